"""The web shop of WatDiv and Stream WatDiv: users, products and retailers, and what happens among them."""
