"""Short thoughts with the plan and the claims that a person reads in them.

They were labelled before any code read them, and hard ones were not left out. A plan is the moves
that the thought settles on. A claim is a statement about where things are now: what it is about,
then what it relates that to ("@": a place of the board), then whether it is true.
"""

from typing import NamedTuple

ROOM = "######\n#    #\n# $  #\n# @  #\n#   .#\n######"
"""Me at (3, 2), the box above me, the target in the bottom right corner."""
LAKE = "SFHF\nFHFF\nFFFH\nHFFG"
ARMS = ("Teacher", "Dragon")


class Labelled(NamedTuple):
    text: str
    plan: str = ""
    claims: str = ""


SOKOBAN = [
    Labelled("The box is above me, so I push it up.", "Up", "box-me+"),
    Labelled(
        "I am at (3, 2) and the box is at (2, 2). The target is at (4, 4).",
        "",
        "me@+ box@+ target@+",
    ),
    Labelled("The box is to the left of me. I will move left.", "Left", "box-me-"),
    Labelled("The target is below and to the right of the box.", "", "target-box+"),
    Labelled(
        "I need to push the box down, so I have to get above it first. Up || Up || Right",
        "Up Up Right",
    ),
    Labelled("Move right, then up, then left.", "Right Up Left"),
    Labelled("Go up twice and then right.", "Up Up Right"),
    Labelled("I should not move down because there is a wall below me.", "", "wall-me-"),
    Labelled(
        "The box is directly above me and the target is to the right.", "", "box-me+ target-me+"
    ),
    Labelled("First I go left, then I go up, then I push the box right.", "Left Up Right"),
    Labelled("I could go left or up. I choose up.", "Up"),
    Labelled("The player is below the box.", "", "me-box+"),
    Labelled("If I move up the box is at (1, 2)."),
    Labelled("The goal is two steps to the right of me.", "", "target-me+"),
    Labelled("The box is three squares to the right of the player.", "", "box-me-"),
    Labelled("There is no wall above the box.", "", "wall-box+"),
    Labelled("The box is on the target, so I am done.", "", "box-target-"),
    Labelled("I am next to the box.", "", "me-box+"),
    Labelled(
        "We need to push the box to the right twice and then down twice.",
        "Right Right Down Down",
    ),
    Labelled("I stand to the right of the box.", "", "me-box-"),
    Labelled("Let me think: box (2, 2), target (4, 4), me (3, 2).", "", "box@+ target@+ me@+"),
    Labelled("The box is at row 2, column 2.", "", "box@+"),
    Labelled("The box is at row 3 and column 3.", "", "box@-"),
    Labelled("Moving left is blocked by a wall. Moving up pushes the box.", "", "wall-me-"),
    Labelled("The answer is Up.", "Up"),
    Labelled("Plan: Left, Up, Up, Right.", "Left Up Up Right"),
    Labelled("My moves: right -> up -> up.", "Right Up Up"),
    Labelled("The target is down and right from the box.", "", "target-box+"),
    Labelled("I will not go up. I will go down instead.", "Down"),
    Labelled("To the left of me is the box.", "", "box-me-"),
    Labelled(
        "Above me is the box, and the target is in the bottom right corner.",
        "",
        "box-me+ target@+",
    ),
    Labelled("Actions: Up, Down, Left, Right."),
    Labelled("I have 4 turns left and 8 actions left."),
    Labelled("The box is not on the target.", "", "box-target+"),
    Labelled("Walk around the box: Left || Up || Up || Right || Down", "Left Up Up Right Down"),
    Labelled("The box and the target are in different columns.", "", "box-target+"),
    Labelled("Push up.", "Up"),
    Labelled("It is right above me."),
    Labelled("The wall is right next to me on the left.", "", "wall-me-"),
    Labelled("I'm above the target.", "", "me-target+"),
    Labelled("It is a great idea, so I will decide to do it."),
    Labelled("The player should move to the right and push the box to the left.", "Right Left"),
    Labelled("Pushing the box to the left of the target would be bad."),
    Labelled("I move up to push the box up.", "Up"),
    Labelled("The box must go down two and right two."),
    Labelled("The box is at (2, 3) and I am at (3, 2).", "", "box@- me@+"),
    Labelled("If the box is to the left of me, I should go left."),
    Labelled("After that the box is below the target."),
]
FROZEN_LAKE = [
    Labelled("The goal is below and to the right of me. I go down.", "Down", "goal-me+"),
    Labelled("There is a hole directly below me.", "", "hole-me-"),
    Labelled(
        "I am in the top left corner. The goal is in the bottom right corner.", "", "me@+ goal@+"
    ),
    Labelled("I should go right and then down to avoid the hole.", "Right Down"),
    Labelled("Down || Down || Right", "Down Down Right"),
    Labelled("The goal is to the left of me.", "", "goal-me-"),
    Labelled("The goal G is below me.", "", "goal-me+"),
    Labelled("The player (P) is at the top left corner.", "", "me@+"),
    Labelled("The hole is above me.", "", "hole-me-"),
    Labelled(
        "I must avoid the holes. Go down, down, right, right, down, right.",
        "Down Down Right Right Down Right",
    ),
    Labelled("I'll step down once.", "Down"),
    Labelled("Since the ice is slippery, I move up to stay safe.", "Up"),
    Labelled("The goal is three squares below me and three squares to the right.", "", "goal-me+"),
    Labelled("The goal is two squares below me.", "", "goal-me-"),
    Labelled("Don't go right."),
    Labelled("Moving down is safe, so Down.", "Down"),
    Labelled("The safest way is to go down two times, then right.", "Down Down Right"),
    Labelled("A hole is next to me.", "", "hole-me-"),
    Labelled("left left down", "Left Left Down"),
    Labelled("I am on the goal.", "", "me-goal-"),
    Labelled("Going left keeps me in place since I'm at the edge. Let me go left.", "Left", "me@+"),
    Labelled("Right, then down. No wait, the hole is there. Down, then right.", "Down Right"),
    Labelled("Going up might make me slip. The goal may be on my right."),
]
BANDIT = [
    Labelled("Dragons are risky, so I choose Dragon.", "Dragon"),
    Labelled("Teacher is steady. I will pull Teacher.", "Teacher"),
    Labelled("I will not pull Dragon."),
    Labelled("The Dragon arm has a higher average payoff, so I pull the Dragon arm.", "Dragon"),
    Labelled("Teacher or Dragon? I pick Teacher.", "Teacher"),
    Labelled("My answer: Dragon", "Dragon"),
    Labelled("Pulling the Teacher arm pays a little every time."),
    Labelled("I think that the best choice is Dragon.", "Dragon"),
    Labelled("Since I cannot know, let's try Teacher.", "Teacher"),
]

# Written when the code was done, in the manner of larger models. What was missed in them led to
# numbered lists, initials and denied claims being read.
LATER = [
    Labelled(
        "Let me look at the grid. I'm P at (3, 2). The box X is at (2, 2), so it is directly above "
        "me. The target is at (4, 4). I need to get the box down and right.",
        "",
        "me@+ box@+ box-me+ target@+",
    ),
    Labelled(
        "To push the box right, I have to stand on its left side. So: Left, Up, then Right.",
        "Left Up Right",
    ),
    Labelled(
        "Okay, so the player is at row 3, column 2 and the box is at row 2, column 2. The goal is "
        "at row 4, column 4. We want the box to move two columns to the right and two rows down.",
        "",
        "me@+ box@+ target@+",
    ),
    Labelled(
        "The box is one square above me. If I push it up, it gets stuck at the wall.", "", "box-me+"
    ),
    Labelled(
        "I'll first go Left, then Up, which puts me to the left of the box. Then pushing Right "
        "twice aligns it with the target column.",
        "Left Up Right Right",
    ),
    Labelled(
        "Wait, the box is not next to me. Actually it is. The box sits right above the player.",
        "",
        "box-me- box-me+",
    ),
    Labelled(
        "The target is in the lower right corner, far below the box.", "", "target@+ target-box+"
    ),
    Labelled("Best sequence: L, U, R, R.", "Left Up Right Right"),
    Labelled("1. Left 2. Up 3. Right 4. Right", "Left Up Right Right"),
    Labelled("My plan is to move left, up, and then push right two times.", "Left Up Right Right"),
    Labelled(
        "The wall to my left blocks me, so moving left is useless; up it is.", "Up", "wall-me-"
    ),
    Labelled("No hurry. Let's try going right and see what happens.", "Right"),
    Labelled("I want to end up below the box, so I do nothing but go down.", "Down"),
    Labelled(
        "The box is on my left and the target lies to the right of the box.",
        "",
        "box-me- target-box+",
    ),
    Labelled(
        "Since the player is left of the target, moving right brings us closer.", "", "me-target+"
    ),
    Labelled(
        "I think the box is above me. Pushing it would be a mistake. Right || Up.",
        "Right Up",
        "box-me+",
    ),
    Labelled(
        "I pushed the box up last turn, and now I should go around it: right, up, up, left.",
        "Right Up Up Left",
    ),
    Labelled("The box is stuck against the top wall.", "", "box-wall-"),
    Labelled("Box at (2,2). Me at (3,2). Target at (4,4).", "", "box@+ me@+ target@+"),
    Labelled("I go up, up, and up again.", "Up Up Up"),
]

# Written and labelled before these were read, with more of them and with what resembles them.
FRESH = [
    Labelled("Steps:\n1. Go left\n2. Go up\n3. Push right", "Left Up Right"),
    Labelled("1. Right\n2. Up", "Right Up"),
    Labelled("Three things to note: 1. Up is blocked 2. Down is free 3. Left is free"),
    Labelled("Path: R R D", "Right Right Down"),
    Labelled("Moves: U,U", "Up Up"),
    Labelled("The box isn't on the target yet.", "", "box-target+"),
    Labelled("There is no wall to the left of me.", "", "wall-me+"),
    Labelled("The box is not above me.", "", "box-me-"),
    Labelled("I am not in the top left corner.", "", "me@+"),
    Labelled("Not up, not down: right.", "Right"),
    Labelled("Let's try moving down and then left.", "Down Left"),
    Labelled("I considered going up. I'd rather go left.", "Left"),
    Labelled("The target is far to the right of me.", "", "target-me+"),
    Labelled("I'm the player P at (3, 2), box X at (2, 2).", "", "me@+ box@+"),
    Labelled("The options are Up, Down, Left, Right; the best is Up.", "Up"),
    Labelled("Since no wall is below the box, pushing it down works.", "", "wall-box+"),
    Labelled("If I go L, U then R, the box moves."),
    Labelled("The box is never going to be below me."),
    Labelled("There isn't a wall next to the box.", "", "wall-box+"),
    Labelled("I will do: first up, second right, third right.", "Up Right Right"),
    Labelled("A wall is not above me, the box is.", "", "wall-me+ box-me+"),
    Labelled("Answer: D", "Down"),
    Labelled("The best first step is to go down.", "Down"),
    Labelled("Moving up pushes the box up, and moving left changes nothing."),
    Labelled("It is not clear that the box is above me; 1 box, 1 target, 4 turns."),
    Labelled("No box is on the target, so I cannot be done.", "", "box-target+"),
    Labelled(
        "1. The box is above me. 2. The target is not below me. 3. Go right.",
        "Right",
        "box-me+ target-me-",
    ),
    Labelled("1) Up 2) Up 3) Left", "Up Up Left"),
    Labelled("So L then U.", "Left Up"),
]
