/** Folds the events of a stream into the answer that GET would give. */
import type { StreamEvent } from '../../api/clients/typescript/src/stream.ts'

type Row = Record<string, unknown>

/** The rows that a reader knows after its events, by pool. */
export class FoldedStream {
  readonly #limit: number
  #isAfterSnapshot = false
  readonly #rows = new Map<string, Map<string, Row>>()
  /** That of the last event. */
  lastId: string | undefined
  readonly tips = new Map<string, Row>()
  /** Events that were left out or came twice, by the numbers in their ids. */
  breaks = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  take({ id, event, data }: StreamEvent): void {
    const isNumbered = event !== 'snapshot' && this.#isAfterSnapshot === false
    if (id !== undefined && isNumbered && id !== next(this.lastId)) this.breaks++
    // The tip of a snapshot has its number.
    this.#isAfterSnapshot = event === 'snapshot'
    this.lastId = id ?? this.lastId
    if (event === 'tip') {
      this.tips.set(String(data['network']), data)
      return
    }
    if (event === 'error') return
    const { network: _, pool, ...row } = data
    const rows = this.#rows.get(String(pool)) ?? new Map<string, Row>()
    this.#rows.set(String(pool), rows)
    if (event === 'snapshot') {
      rows.clear()
      for (const one of data['data'] as Row[]) rows.set(keyOf(one), one)
    } else if (event === 'retract') {
      for (const key of (data['ids'] ?? data['times']) as string[]) rows.delete(key)
    } else {
      rows.set(keyOf(row), row)
      // Rows that left the answer are not retracted.
      if (rows.size > this.#limit) rows.delete(keyOf(inOrder(rows)[0] ?? row))
    }
  }

  /** The rows at or after a time, in the order of an answer. */
  rowsOf(pool: string, from = ''): Row[] {
    return inOrder(this.#rows.get(pool) ?? new Map()).filter((row) => timeOf(row) >= from)
  }
}

function inOrder(rows: ReadonlyMap<string, Row>): Row[] {
  return [...rows.values()].sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1))
}

function next(id: string | undefined): string {
  const [feed, number] = (id ?? '').split('.')
  return `${feed}.${Number(number) + 1}`
}

const timeOf = (row: Row) => String(row['time'] ?? row['timestamp'])
const keyOf = (row: Row) => String(row['id'] ?? row['time'])

/** Ticks of one second are in the order of the chain. */
function placeOf(row: Row): string {
  const digits = (name: string) => String(row[name] ?? '').padStart(12, '0')
  return `${timeOf(row)} ${digits('block')} ${digits('logIndex')}`
}
