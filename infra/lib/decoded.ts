/** The body of an HTTP answer, unpacked where it is compressed: as a stream, or whole. */
import type { IncomingMessage } from 'node:http'
import { pipeline, type Readable, type Transform } from 'node:stream'
import { promisify } from 'node:util'
import {
  brotliDecompress,
  createBrotliDecompress,
  createUnzip,
  gunzip,
  inflate,
  inflateRaw,
  type ZlibOptions,
} from 'node:zlib'
import { TooLong, unpackZstd } from './zstd.ts'

/** A body has at most this many codings: each one costs a pass over it. */
const MAX_CODINGS = 3

const STREAMS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createUnzip],
  ['x-gzip', createUnzip],
  ['deflate', createUnzip],
  ['br', createBrotliDecompress],
])

/** Takes the codings that the header names. An error reaches the reader of the stream. */
export function decoded(response: IncomingMessage): Readable {
  let body: Readable = response
  for (const coding of codingsOf(response)) {
    const open = STREAMS.get(coding)
    if (!open) return response.destroy(new Error(`The answer has the unknown content encoding ${quoted(coding)}.`))
    body = pipeline(body, open(), () => undefined)
  }
  return body
}

type Unpack = (packed: Buffer, options: ZlibOptions & { maxOutputLength: number; chunkSize: number }) => Promise<Buffer>

const gzip: Unpack = promisify(gunzip)
const zlib: Unpack = promisify(inflate)
const raw: Unpack = promisify(inflateRaw)
const zstd: Unpack = async (packed, { maxOutputLength }) => unpackZstd(packed, maxOutputLength)
/** Servers say “deflate” of both formats. */
const deflate: Unpack = (packed, options) => (isZlib(packed) ? zlib : raw)(packed, options)

const BY_NAME: ReadonlyMap<string, Unpack> = new Map([
  ['gzip', gzip],
  ['x-gzip', gzip],
  ['deflate', deflate],
  ['br', promisify(brotliDecompress) as Unpack],
  ['zstd', zstd],
])

/**
 * The text of an answer in JSON, at most `maxBytes` long, else `TooLong` is thrown. Gateways name codings that the body does not have, and
 * omit codings that it has: an unknown name is ignored, and gzip and Zstandard are recognized by their first bytes.
 */
export async function unpacked(body: Buffer, response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  let bytes = body
  const named = codingsOf(response)
  for (let count = 0; count < MAX_CODINGS && bytes.length > 0; count++) {
    const unpack = packedBy(bytes) ?? BY_NAME.get(named[count] ?? '')
    if (!unpack && count >= named.length) return bytes
    if (unpack) bytes = await unpackedBy(unpack, bytes, maxBytes)
  }
  return bytes
}

async function unpackedBy(unpack: Unpack, bytes: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return await unpack(bytes, { maxOutputLength, chunkSize: chunkSizeOf(bytes) })
  } catch (error) {
    if (error instanceof TooLong || (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw new TooLong()
    if (/^\s*[[{]/.test(bytes.toString('latin1', 0, 64))) return bytes
    throw error
  }
}

const MIN_CHUNK = 16 * 1024
const MAX_CHUNK = 1024 * 1024
/** Logs compress so much. */
const USUAL_RATIO = 8

/** Each chunk costs a turn of the event loop: in Node's of 16 kB, unpacking takes twice as long. */
function chunkSizeOf({ length }: Buffer): number {
  return Math.min(MAX_CHUNK, Math.max(MIN_CHUNK, length * USUAL_RATIO))
}

/** The last one applied is the first one undone. */
function codingsOf({ headers }: IncomingMessage): string[] {
  const names = (headers['content-encoding'] ?? '').toLowerCase().split(',')
  return names
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse()
}

function packedBy(bytes: Buffer): Unpack | undefined {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gzip
  return bytes.length > 4 && bytes.readUInt32LE(0) === 0xfd2fb528 ? zstd : undefined
}

/** Compression method 8, and a check on the first two bytes (RFC 1950). */
function isZlib(bytes: Buffer): boolean {
  return bytes.length > 1 && ((bytes[0] ?? 0) & 15) === 8 && bytes.readUInt16BE(0) % 31 === 0
}

function quoted(coding: string): string {
  return JSON.stringify(coding.slice(0, 40))
}
