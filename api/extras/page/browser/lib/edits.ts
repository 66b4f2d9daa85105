/** Edits that turn one word into the other: letters inserted, removed or replaced, and neighbours swapped. */
export function edits(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  const cost = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= one.length; row += 1) {
    const line = [row]
    rows.push(line)
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      line.push(
        Math.min(
          cost(row - 1, column) + 1,
          cost(row, column - 1) + 1,
          cost(row - 1, column - 1) + Number(!isSame),
          isSwapped ? cost(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
  }
  return cost(one.length, other.length)
}
