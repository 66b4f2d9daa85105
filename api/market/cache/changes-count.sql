-- Goes up with each write, and down where old ones go: whether it is worth while to look.
SELECT toString(count()) AS changes
FROM changes
