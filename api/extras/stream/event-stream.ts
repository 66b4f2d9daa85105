/** An answer that stays open and carries server-sent events, with bounds on the bytes that a slow reader may leave unread. */
import type { Response } from 'express'
import { REQUEST_ID } from '../../http/http.ts'
import { Problem, problemBody } from '../../lib/problem.ts'

const HEARTBEAT_MS = 15_000
/** Unread bytes, without the bytes of the first answer. */
const MAX_UNREAD_BYTES = 2 ** 20
/** For the last event of a reader that does not read. */
const END_MS = 2_000

export type EventStream = {
  /** Kept until `open`. */
  write(text: string): void
  /** Sends the head, and the events so far. */
  open(): void
  /** The last event says why. */
  end(problem: Problem): void
  /** Aborts when the connection is closed, by either side. */
  closed: AbortSignal
}

export function eventStream(res: Response): EventStream {
  const closing = new AbortController()
  let buffered: string | undefined = ''
  let firstBytes = 0
  let isEnded = false

  const heartbeat = setInterval(() => send(':\n\n'), HEARTBEAT_MS).unref()
  const onClose = () => {
    clearInterval(heartbeat)
    closing.abort()
  }
  // A client may hang up while its key is looked up.
  if (res.closed || res.destroyed || res.socket?.destroyed) onClose()
  else res.once('close', onClose)
  const stop = () => end(new Problem('stream_ended', 'The server stops. Open the stream again.'))
  res.once('stopping', stop)

  function send(text: string): void {
    if (isEnded || buffered !== undefined) return
    res.write(text)
    if (res.writableLength === 0) firstBytes = 0
    if (res.writableLength <= firstBytes + MAX_UNREAD_BYTES) return
    end(
      new Problem(
        'stream_ended',
        'The reader is too slow: too much is unread. Open the stream again, and read faster.',
      ),
    )
  }

  function end(problem: Problem): void {
    if (isEnded) return
    isEnded = true
    clearInterval(heartbeat)
    if (!res.headersSent) return void res.destroy()
    res.end(`event: error\ndata: ${JSON.stringify(problemBody(problem, res.get(REQUEST_ID) ?? ''))}\n\n`)
    setTimeout(() => res.destroy(), END_MS).unref()
    closing.abort()
  }

  return {
    write(text) {
      if (buffered === undefined) send(text)
      else buffered += text
    },
    open() {
      const text = buffered ?? ''
      buffered = undefined
      firstBytes = Buffer.byteLength(text)
      res.status(200).set({
        'Content-Type': 'text/event-stream; charset=utf-8',
        // No proxy and no middleware may hold back an event.
        'Cache-Control': 'private, no-store, no-transform',
        'X-Accel-Buffering': 'no',
      })
      res.flushHeaders()
      send(`retry: 1000\n\n${text}`)
      // It came while the server was stopping, so that no event will say so.
      if (res.getHeader('Connection') === 'close') stop()
    },
    end,
    closed: closing.signal,
  }
}
