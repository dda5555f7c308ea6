"""merged."""
