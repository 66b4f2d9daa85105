/** The body of an HTTP answer, unpacked where it is compressed. */
import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable } from 'node:stream'
import { createUnzip } from 'node:zlib'

/** Takes gzip and deflate. An error reaches the reader of the stream. */
export function decoded(response: IncomingMessage): Readable {
  const { 'content-encoding': encoding = 'identity' } = response.headers
  return encoding === 'identity' ? response : pipeline(response, createUnzip(), () => undefined)
}
