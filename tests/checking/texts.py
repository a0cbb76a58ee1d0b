"""An answer and its sources, as a system that answers questions about a company would give them."""

SOURCES = {
    "handbook": "Employees have 25 days of paid leave a year. Leave that is not taken by March expires. "
    "Requests are made at least two weeks ahead.",
    "travel": "Trips of less than four hours are made by train. Flights are booked in economy class. "
    "Hotels may cost up to 120 euros a night.",
    "security": "Laptops are encrypted. Lost devices are reported within a day. Passwords have sixteen characters.",
}
TRUE, CHANGED, MADE_UP = (
    "Employees have 25 days of paid leave a year.",
    "Hotels may cost up to 150 euros a night.",
    "The canteen serves soup on Fridays.",
)
ANSWER = f"{TRUE} {CHANGED} {MADE_UP}"
UNRELATED = "Wine ripens in barrels of oak. The cellar stays cool in summer. Grapes are picked by hand."
