"""Who answers the questions: the rule, and the seat of an answerer in its own words."""
