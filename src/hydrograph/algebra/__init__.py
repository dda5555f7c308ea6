"""The algebra of continuous queries: records without behaviour, and the walks over them."""
