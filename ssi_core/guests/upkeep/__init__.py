"""What a store holds, and whether it is as it was written."""
