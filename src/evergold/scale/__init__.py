"""The executor seam: processes here, an existing cluster engine elsewhere."""
