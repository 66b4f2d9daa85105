/** Figures of a suite for the soak that runs it: a line in the file that `SOAK_REPORT` names. */
import { appendFileSync } from 'node:fs'

export type SoakReport =
  | { suite: 'simulation'; histories: number }
  | { suite: 'lies'; histories: number; lies: number }
  | { suite: 'chaos'; crashes: number; forks: number }
  | {
      suite: 'readers'
      answers: number
      /** Parts of them. */
      judged: number
      violations: number
      faults: Readonly<Record<string, number>>
      functions: { known: readonly string[]; reached: readonly string[] }
    }

export function reportToSoak(report: SoakReport): void {
  const file = process.env['SOAK_REPORT']
  if (file) appendFileSync(file, `${JSON.stringify(report)}\n`)
}
