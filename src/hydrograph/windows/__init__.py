"""SECRET's dimensions as pure functions: the specification that every compiled plan is checked against."""
