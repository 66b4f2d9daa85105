/** `Accept: text/event-stream` read with fetch, since an EventSource sends no header, and opened again where it breaks. */
import { CandlepoolError } from './error.ts'
import { type ClientOptions, pause, pauseMs, send } from './request.ts'

export type StreamEvent = { id: string | undefined; event: string; data: Record<string, unknown> }

/** Parses the events of a body as they arrive; comments are left out. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  // Some browsers do not iterate over a body.
  const reader = body.getReader()
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      rest += decoder.decode(part.value, { stream: true })
      const blocks = rest.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const fields = new Map(
          block.split('\n').map((line) => [line.split(': ', 1)[0] ?? '', line.slice(line.indexOf(': ') + 2)]),
        )
        const event = fields.get('event')
        if (event !== undefined) yield { id: fields.get('id'), event, data: JSON.parse(fields.get('data') ?? '{}') }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

/**
 * Events without end. If the connection breaks or the server stops, the stream resumes after the last event: with the missed events, or with
 * a snapshot. Throws an error that a retry would repeat.
 */
export async function* streamOf(
  options: ClientOptions,
  path: string,
  query: Readonly<Record<string, unknown>>,
  signal?: AbortSignal,
): AsyncGenerator<StreamEvent> {
  let lastId: string | undefined
  for (let attempt = 0; ; attempt++) {
    const resume: Record<string, string> = lastId === undefined ? {} : { 'Last-Event-ID': lastId }
    const answer = await send(options, path, query, { signal, headers: { Accept: 'text/event-stream', ...resume } })
    let ended: CandlepoolError | undefined
    try {
      for await (const event of eventsOf(answer.body ?? new ReadableStream())) {
        attempt = 0
        lastId = event.id ?? lastId
        if (event.event === 'error') ended = new CandlepoolError(event.data, { status: Number(event.data['status']) })
        else yield event
      }
    } catch (error) {
      signal?.throwIfAborted()
      ended = new CandlepoolError({ message: 'The stream broke.' }, { status: 0, cause: error })
    }
    signal?.throwIfAborted()
    if (ended && !ended.isTemporary) throw ended
    await pause(pauseMs(ended ?? new CandlepoolError({}), attempt), signal)
  }
}
