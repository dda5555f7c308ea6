"""How each target spells SQL trees."""
