/** How much of a long suite runs: a sample in `npm run check`, all of it where `SOAK=1`, each night, or as much as the suite's variable says. */
import { randomInt } from 'node:crypto'
import { randomOf } from '../simulation/random.ts'

export function sample(variable: string, inCheck: number, inSoak: number): number {
  const asked = process.env[variable]
  if (asked !== undefined) return Number(asked)
  return isSoak ? inSoak : inCheck
}

const isSoak = process.env['SOAK'] === '1'

/** Options of tests that take long and show again, larger or in another setting, what a test of the check shows. */
export const inSoak = { skip: !isSoak }

/** As many of these cases as the check runs, others in each run, which are printed; all of them in the soak. `DRAW=7` draws the same again. */
export function drawn<T>(what: string, cases: readonly T[], inCheck: number): readonly T[] {
  if (isSoak || inCheck >= cases.length) return cases
  const seed = Number(process.env['DRAW'] ?? randomInt(1, 900_000))
  console.log(`${what}: ${inCheck} of ${cases.length}, DRAW=${seed}`)
  const random = randomOf(seed)
  const left = [...cases]
  return Array.from({ length: inCheck }, () => left.splice(random.between(0, left.length - 1), 1)).flat()
}

/** As `drawn`, from each kind of case: no kind is left out of a check. */
export function drawnOfEach<T>(
  what: string,
  cases: readonly T[],
  kindOf: (it: T) => string,
  inCheck: number,
): readonly T[] {
  const kinds = [...new Set(cases.map(kindOf))]
  return kinds.flatMap((kind) =>
    drawn(
      `${what}, ${kind}`,
      cases.filter((it) => kindOf(it) === kind),
      inCheck,
    ),
  )
}
