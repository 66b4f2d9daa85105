/** How much of a long suite runs: a sample in `npm run check`, all of it where `SOAK=1`, each night, or as much as the suite's variable says. */

export function sample(variable: string, inCheck: number, inSoak: number): number {
  const asked = process.env[variable]
  if (asked !== undefined) return Number(asked)
  return isSoak ? inSoak : inCheck
}

const isSoak = process.env['SOAK'] === '1'
