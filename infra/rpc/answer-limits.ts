/** How long an answer to each method can be, on the wire and unpacked. */
import { ResponseBodyTooLargeError } from 'viem'
import { malformed } from './call.ts'

const KIB = 1024
const MIB = 1024 * KIB

/** Any answer may be an error instead, also as a web page. */
const SHORT_BYTES = 256 * KIB
/** With the hashes of its transactions. */
const HEADER_BYTES = 4 * MIB
/** The gas of a call buys a few megabytes of memory, which are twice as long in hex. */
const CALL_BYTES = 16 * MIB
/** A range of 20,000 logs is 15 MB. */
const LOGS_BYTES = 64 * MIB
/** Limit of any batch. */
const MAX_BYTES = 64 * MIB

/**
 * Contracts write the content of logs, receipts and results of calls, and it may compress a thousandfold: a ratio of compression does not
 * distinguish them from a bomb, and `parseBounded` refuses answers that would take long.
 */
const BYTES: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: HEADER_BYTES,
  eth_call: CALL_BYTES,
  eth_getTransactionReceipt: CALL_BYTES,
  eth_getBlockReceipts: LOGS_BYTES,
  eth_getLogs: LOGS_BYTES,
}

/** Limit of a message over a WebSocket that answers no request: a new head. */
export const NOTICE_BYTES = SHORT_BYTES

/** A call of JSON-RPC, as far as it matters here. */
export type AskedCall = { method?: string }

/** `asked`: one call, or the calls of a batch. */
export function bytesFor(asked: AskedCall | readonly AskedCall[]): number {
  const calls: readonly AskedCall[] = [asked].flat()
  return Math.min(
    MAX_BYTES,
    calls.reduce((sum, { method }) => sum + (BYTES[method ?? ''] ?? SHORT_BYTES), 0),
  )
}

/** Live blocks wait for a head: an answer to such calls is not waited for as long as logs are. */
const MAX_SHORT_MS = 10_000

export function timeFor(asked: AskedCall | readonly AskedCall[], timeoutMs: number): number {
  const isLong = [asked].flat().some(({ method }) => (BYTES[method ?? ''] ?? 0) > HEADER_BYTES)
  return isLong ? timeoutMs : Math.min(timeoutMs, MAX_SHORT_MS)
}

/** Logs may be asked for of fewer blocks; any other answer above its limit is the endpoint's fault. `name` is that of the endpoint. */
export function tooLong(asked: AskedCall | readonly AskedCall[], name: string): Error {
  const calls: readonly AskedCall[] = [asked].flat()
  const maxSize = bytesFor(asked)
  if (calls.some(({ method }) => BYTES[method ?? ''] === LOGS_BYTES))
    return new ResponseBodyTooLargeError({ maxSize, size: maxSize + 1 })
  const methods = [...new Set(calls.map(({ method }) => method))].join(', ')
  return malformed(`The node's answer to ${methods} is longer than ${maxSize} bytes.`, name, { isFault: true })
}
