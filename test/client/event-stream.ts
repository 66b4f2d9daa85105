/** Folded rows that also count events that were left out or came twice. */
import { setTimeout as sleep } from 'node:timers/promises'
import { FoldedRows } from '../../api/extras/clients/typescript/src/folded.ts'
import { eventsOf, type StreamEvent } from '../../api/extras/clients/typescript/src/stream.ts'

export class FoldedStream extends FoldedRows {
  /** That of the last event. */
  lastId: string | undefined
  /** By the numbers in the ids. */
  breaks = 0
  /** How often the stream was opened by `followed`. */
  opened = 0

  override take(told: StreamEvent): void {
    const { id, event } = told
    // A snapshot may have any id, and a tip has the id of the event before it.
    const expected = event === 'tip' ? this.lastId : next(this.lastId)
    if (id !== undefined && event !== 'snapshot' && id !== expected) this.breaks++
    this.lastId = id ?? this.lastId
    super.take(told)
  }
}

/** The events after the last one that was folded, or nothing where the service refuses the request. */
export async function eventsAfter(
  { lastId }: FoldedStream,
  { url, key, signal }: { url: string; key: string; signal: AbortSignal },
): Promise<AsyncIterable<StreamEvent> | undefined> {
  const again = lastId === undefined ? {} : { 'Last-Event-ID': lastId }
  const headers = { 'X-API-KEY': key, Accept: 'text/event-stream', ...again }
  const { ok, body } = await fetch(url, { headers, signal })
  return ok && body ? eventsOf(body) : undefined
}

const AGAIN_MS = 500

/**
 * Folds a stream and returns its events until the signal aborts. After each end it is opened again from the last event. `url`: where, or undefined
 * while nowhere.
 */
export async function* followed(
  folded: FoldedStream,
  { url, key, signal }: { url: () => string | undefined; key: string; signal: AbortSignal },
): AsyncGenerator<StreamEvent> {
  for (; !signal.aborted; await sleep(AGAIN_MS)) {
    const at = url()
    const events =
      at === undefined ? undefined : await eventsAfter(folded, { url: at, key, signal }).catch(() => undefined)
    if (!events) continue
    folded.opened++
    try {
      for await (const event of events) {
        folded.take(event)
        yield event
      }
    } catch {
      // The process has ended.
    }
  }
}

function next(id: string | undefined): string {
  const [feed, number] = (id ?? '').split('.')
  return `${feed}.${Number(number) + 1}`
}
