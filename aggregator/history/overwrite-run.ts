/** Runs of range overwrites: consecutive messages of one job that are written together. */
import { type RangeOverwrite, ticksIn } from '../../ingest/model/message.ts'

/** One job and one set of pools; each message begins where the one before it ends. */
export type OverwriteRun = readonly [RangeOverwrite, ...RangeOverwrite[]]

/** As few runs as possible; a run takes no further message once it has `maxTicks`. */
export function runsOf(overwrites: readonly RangeOverwrite[], maxTicks: number): OverwriteRun[] {
  const runs: [RangeOverwrite, ...RangeOverwrite[]][] = []
  let ticks = 0
  for (const one of overwrites) {
    const run = runs.at(-1)
    const before = run?.at(-1)
    if (run && before && ticks < maxTicks && isNext(before, one)) run.push(one)
    else {
      runs.push([one])
      ticks = 0
    }
    ticks += ticksIn(one)
  }
  return runs
}

function isNext(before: RangeOverwrite, next: RangeOverwrite): boolean {
  return before.job === next.job && before.to + 1 === next.from && String(before.pools) === String(next.pools)
}
