/** Reads a process's admin port as Prometheus does. */

/** Timeout of scrapers and probes. */
const PATIENCE_MS = 8_000

export type Sample = { name: string; labels: Record<string, string>; value: number }

/** The text format: one sample a line. */
export function samplesIn(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', inner = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
      const labels = Object.fromEntries(
        [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [label, text]),
      )
      return { name, labels, value: Number(value) }
    })
}

/** The sum of the samples with this name and at least these labels; undefined where there is none. */
export function sum(samples: readonly Sample[], name: string, labels: Record<string, string> = {}): number | undefined {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  return found.length === 0 ? undefined : found.reduce((total, { value }) => total + value, 0)
}

export async function scrape(port: number): Promise<{ text: string; samples: Sample[] }> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  if (answer.status !== 200) throw new Error(`/metrics answered ${answer.status}`)
  const text = await answer.text()
  return { text, samples: samplesIn(text) }
}

export type Readiness = { status: number; body: { status: string; reasons: string[]; standingBy: string[] } }

export async function readiness(port: number): Promise<Readiness> {
  const answer = await fetch(`http://127.0.0.1:${port}/health/ready`, { signal: AbortSignal.timeout(PATIENCE_MS) })
  return { status: answer.status, body: (await answer.json()) as Readiness['body'] }
}
