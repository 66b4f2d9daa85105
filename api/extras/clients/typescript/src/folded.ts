/** Folds the events of a stream into the answer that the same request gives at its tip. */
import type { StreamEvent } from './stream.ts'

type RowFields = Record<string, unknown>

/** Rows by pool: candles by their `time`, ticks by their `id`, in the order of an answer where the stream has `include=position`. */
export class FoldedRows {
  readonly #limit: number
  readonly #rows = new Map<string, Map<string, RowFields>>()
  /** The newest tip of each network. */
  readonly tips = new Map<string, RowFields>()

  /** `limit`: that of the request, 100 if it has none. */
  constructor(limit: number) {
    this.#limit = limit
  }

  take({ event, data }: StreamEvent): void {
    if (event === 'error') return
    if (event === 'tip') {
      this.tips.set(String(data['network']), data)
      return
    }
    const { network: _, pool, ...row } = data
    const rows = this.#rows.get(String(pool)) ?? new Map<string, RowFields>()
    this.#rows.set(String(pool), rows)
    if (event === 'snapshot') {
      rows.clear()
      for (const one of data['data'] as RowFields[]) rows.set(keyOf(one), one)
    } else if (event === 'retract') {
      for (const key of (data['ids'] ?? data['times']) as string[]) rows.delete(key)
    } else {
      rows.set(keyOf(row), row)
      // Rows that left the answer are not retracted.
      if (rows.size > this.#limit) rows.delete(keyOf(inOrder(rows)[0] ?? row))
    }
  }

  /** The rows at or after a time, in the order of an answer. */
  rowsOf(pool: string, from = ''): RowFields[] {
    return inOrder(this.#rows.get(pool) ?? new Map()).filter((row) => timeOf(row) >= from)
  }
}

function inOrder(rows: ReadonlyMap<string, RowFields>): RowFields[] {
  return [...rows.values()].sort((one, other) => {
    const [place, next] = [placeOf(one), placeOf(other)]
    if (place === next) return 0
    return place < next ? -1 : 1
  })
}

const timeOf = (row: RowFields) => String(row['time'] ?? row['timestamp'])
const keyOf = (row: RowFields) => String(row['id'] ?? row['time'])

/** Ticks of one second are in the order of the chain; without a position, in that of their arrival. */
function placeOf(row: RowFields): string {
  const digits = (name: string) => String(row[name] ?? '').padStart(12, '0')
  return `${timeOf(row)} ${digits('block')} ${digits('logIndex')}`
}
