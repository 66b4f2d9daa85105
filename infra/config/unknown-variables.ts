/** Variables of the environment that are not read, though their names say that they should be. */

export type NearName = { name: string; meant: string }

/** One wrong letter in six. Shorter names are near too many others. */
const LETTERS_PER_SLIP = 6

/** Names that are close to a known one, with that one. `given` are the names of variables that have a value. */
export function nearNames(given: readonly string[], known: readonly string[]): NearName[] {
  const strange = given.filter((name) => !known.includes(name))
  return strange.flatMap((name) => {
    const most = Math.floor(name.length / LETTERS_PER_SLIP)
    const near = known.map((meant) => ({ name, meant, slips: slipsBetween(name, meant, most) }))
    const [best] = near.filter(({ slips }) => slips <= most).sort((a, b) => a.slips - b.slips)
    return best ? [{ name, meant: best.meant }] : []
  })
}

/** Endpoints of networks that do not exist: the service would read another chain, or a devnet. */
export function strangeEndpoints(given: readonly string[], known: readonly string[]): string[] {
  const endpoints = known.filter((name) => name.endsWith('_RPC_URL'))
  return given
    .filter((name) => name.endsWith('_RPC_URL') && !known.includes(name))
    .map((name) => `${name} is of no network that is read: there are ${endpoints.join(', ')}`)
}

/** Levenshtein's distance; more than `most` where it is larger. */
function slipsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [index, letter] of [...a].entries()) {
    const row = [index + 1]
    for (let at = 1; at <= b.length; at++) {
      const replaced = (before[at - 1] ?? 0) + Number(b[at - 1] !== letter)
      row.push(Math.min(replaced, (before[at] ?? 0) + 1, (row[at - 1] ?? 0) + 1))
    }
    before = row
  }
  return before[b.length] ?? 0
}
