/** Figures of a bench: one a line, in the same columns in every bench. */

/** `floor` is the same work done in the barest way in the same run, in the same unit. */
export function figure(what: string, value: number, unit: string, floor?: number): void {
  const ofFloor = floor === undefined ? ['', ''] : [text(floor), (value / floor).toFixed(2)]
  const [shown, ratio] = ofFloor
  console.log(
    [what.padEnd(66), text(value).padStart(11), unit.padEnd(9), shown?.padStart(11), ratio?.padStart(7)].join(' '),
  )
}

export function title(what: string): void {
  console.log(
    `\n${what.padEnd(66)} ${'value'.padStart(11)} ${'unit'.padEnd(9)} ${'floor'.padStart(11)} ${'ratio'.padStart(7)}`,
  )
}

function text(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en')
  return value.toFixed(value < 100 ? 2 : 0)
}

export type Cost = {
  /** By the clock: what else runs on the machine adds to it. */
  seconds: number
  /** Processor time in all threads of this process: garbage collection runs in several. */
  cpuSeconds: number
}

export async function costOf(work: () => unknown): Promise<Cost> {
  const cpu = process.cpuUsage()
  const began = performance.now()
  await work()
  const seconds = (performance.now() - began) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpuSeconds: (user + system) / 1_000_000 }
}

/** The least of several rounds: other load on the machine only adds. */
export function least(costs: readonly Cost[]): Cost {
  return {
    seconds: Math.min(...costs.map(({ seconds }) => seconds)),
    cpuSeconds: Math.min(...costs.map(({ cpuSeconds }) => cpuSeconds)),
  }
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN
}
