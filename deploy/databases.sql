-- One database for each server; both make their tables themselves. Prefect's migrations need the
-- extension pg_trgm, which comes with PostgreSQL's contrib package.
CREATE DATABASE prefect;
CREATE DATABASE mlflow;
