#!/bin/sh
# Says to a Prefect server that answers what there is: the work pool, every flow of prefect.yaml, the
# automations. It may be run again at any time. From the root of the project, with its Python on PATH.
set -eu
prefect() { python -m flows.environment python -m prefect --no-prompt "$@"; }

prefect work-pool create local-process --type process --overwrite
prefect deploy --all
sed -n 's/^  - name: //p' deploy/automations.yaml | while read -r name; do
  prefect automation delete "$name" >/dev/null 2>&1 || true # there is none at first
done
prefect automation create --from-file deploy/automations.yaml
