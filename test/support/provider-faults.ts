/** The ways in which providers' endpoints differ from a node: one row a fault, as public reports describe them. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { numberToHex } from 'viem'
import type { GatewayCall, GatewayFault, WholeAnswer } from './gateway.ts'
import { type Outcome, refusal } from './json-rpc.ts'
import type { RecordedChain } from './rpc-server.ts'

/** Blocks of the suite: the endpoint has lost those below `cut`. */
export type FaultPlace = { chain: RecordedChain; cut: number }

export type ProviderFault = {
  /** Faults of one kind have one letter. */
  row: string
  title: string
  /** A fault that ends by itself counts calls, never time. */
  begin(place: FaultPlace): GatewayFault
  /** HTTP alone: a WebSocket has no batches, status or encoding. */
  isHttp?: true
  /** So many pools are asked for, of which one trades. */
  pools?: number
}

const blockOf = ({ params }: GatewayCall, place = 0): number | undefined =>
  /^0x/.test(String(params[place])) ? Number(params[place]) : undefined

type Filter = { fromBlock?: string; toBlock?: string; blockHash?: string; address?: string | string[] }
const filterOf = ({ method, params }: GatewayCall): Filter | undefined =>
  method === 'eth_getLogs' ? (params[0] as Filter) : undefined

function ofHttp(row: string, faults: readonly Omit<ProviderFault, 'row' | 'isHttp'>[]): readonly ProviderFault[] {
  return faults.map((fault) => ({ row, isHttp: true, ...fault }))
}

// --- a: expired history

function expired(headers: Outcome | undefined, logs: Outcome): ProviderFault['begin'] {
  return ({ cut }) => ({
    call(call) {
      const from = Number(filterOf(call)?.fromBlock ?? Number.POSITIVE_INFINITY)
      if (from < cut) return logs
      const isOld = call.method === 'eth_getBlockByNumber' && (blockOf(call) ?? cut) < cut
      return isOld ? headers : undefined
    },
  })
}

const PRUNED = refusal(4444, 'pruned history unavailable')

const EXPIRED: readonly ProviderFault[] = [
  { row: 'a', title: 'expired history: error 4444', begin: expired(PRUNED, PRUNED) },
  { row: 'a', title: 'expired history: headers are null, logs are refused', begin: expired({ result: null }, PRUNED) },
  {
    row: 'a',
    title: 'expired history: headers are null, logs are empty',
    begin: expired({ result: null }, { result: [] }),
  },
  {
    row: 'a',
    title: 'expired history: headers are there, logs are empty',
    begin: expired(undefined, { result: [] }),
  },
]

// --- b: finality far below the head

function lowFinality(blocks: number, answers: number): ProviderFault['begin'] {
  return ({ chain }) => {
    let left = answers
    return {
      rewrite: (call) =>
        call.params[0] === 'finalized' && left-- > 0
          ? { ...call, params: [numberToHex(Math.max(0, chain.head - blocks)), false] }
          : call,
    }
  }
}

const LOW_FINALITY: readonly ProviderFault[] = [
  { row: 'b', title: '`finalized` is 300,000 blocks low for a while', begin: lowFinality(300_000, 6) },
  { row: 'b', title: '`finalized` is 5,000,000 blocks low for a while', begin: lowFinality(5_000_000, 6) },
  { row: 'b', title: '`finalized` is block 0 for a while', begin: lowFinality(Number.POSITIVE_INFINITY, 6) },
]

// --- c: a heavy range fails without a reason

/** Ranges of more blocks than this are heavy. */
const LIGHT_BLOCKS = 60

const isHeavy = (call: GatewayCall): boolean => {
  const { fromBlock, toBlock } = filterOf(call) ?? {}
  return fromBlock !== undefined && Number(toBlock) - Number(fromBlock) >= LIGHT_BLOCKS
}
const refused = (code: number, message: string): ProviderFault['begin'] => {
  return () => ({ call: (call) => (isHeavy(call) ? refusal(code, message) : undefined) })
}
const failed = (answer: WholeAnswer): ProviderFault['begin'] => {
  return () => ({ request: (calls) => (calls.some(isHeavy) ? answer : undefined) })
}
const page = (status: number, text: string): WholeAnswer => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: `<html><body>${text}</body></html>`,
})

/** One block makes each range heavy that has others beside it. */
const heavyBlock: ProviderFault['begin'] = ({ chain }) => ({
  call(call) {
    const { fromBlock, toBlock } = filterOf(call) ?? {}
    const heavy = chain.finalized - 100
    const isWithin = Number(fromBlock) <= heavy && heavy <= Number(toBlock)
    return isWithin && fromBlock !== toBlock ? refusal(-32603, 'Internal error') : undefined
  },
})

const HEAVY: readonly ProviderFault[] = [
  { row: 'c', title: 'a heavy range: -32001', begin: refused(-32001, 'Unable to complete request at this time.') },
  { row: 'c', title: 'a heavy range: -32603', begin: refused(-32603, 'Internal error') },
  { row: 'c', title: 'a heavy range: -32000 request timed out', begin: refused(-32000, 'request timed out') },
  { row: 'c', title: 'a heavy range: -32000 without a reason', begin: refused(-32000, 'Server error') },
  { row: 'c', title: 'a heavy block within a range: -32603', begin: heavyBlock },
  ...[500, 502, 503, 504, 413].map(
    (status): ProviderFault => ({
      row: 'c',
      title: `a heavy range: HTTP ${status}`,
      begin: failed(page(status, 'Error')),
      isHttp: true,
    }),
  ),
  { row: 'c', title: 'a heavy range: reset', begin: failed('reset'), isHttp: true },
]

// --- d: no batches, or small ones

const json = (status: number, body: unknown): WholeAnswer => ({ status, body: JSON.stringify(body) })
const batchRefusal = (code: number, message: string) => ({ jsonrpc: '2.0', id: null, error: { code, message } })
const noBatches = (answer: WholeAnswer): ProviderFault['begin'] => {
  return () => ({ request: (_, isBatch) => (isBatch ? answer : undefined) })
}

/** go-ethereum's own answer: the error, under the id of the first call. */
const batchLimit = (limit: number): ProviderFault['begin'] => {
  return () => ({
    request: (calls) =>
      calls.length > limit
        ? json(200, [{ ...batchRefusal(-32600, 'batch too large'), id: calls[0]?.id ?? null }])
        : undefined,
  })
}
const smallBatches = (limit: number, answer: WholeAnswer): ProviderFault['begin'] => {
  return () => ({ request: (calls) => (calls.length > limit ? answer : undefined) })
}

const INVALID = json(200, batchRefusal(-32600, 'invalid request'))
const UNMARSHAL = 'json: cannot unmarshal array into Go value of type rpc.jsonrpcMessage'

const BATCHES: readonly ProviderFault[] = ofHttp('d', [
  { title: 'no batches: -32600 invalid request', begin: noBatches(INVALID) },
  { title: 'no batches: -32700 parse error', begin: noBatches(json(200, batchRefusal(-32700, 'parse error'))) },
  { title: 'no batches: cannot unmarshal array', begin: noBatches(json(200, batchRefusal(-32700, UNMARSHAL))) },
  { title: 'no batches: HTTP 400 with a JSON error', begin: noBatches(json(400, { error: 'Bad Request' })) },
  { title: 'no batches: HTTP 400 with a page', begin: noBatches(page(400, 'Bad Request')) },
  { title: 'no batches: HTTP 400 without a text', begin: noBatches({ status: 400, body: '' }) },
  { title: 'batches of 5 at most: an array with one error', begin: batchLimit(5) },
  { title: 'batches of 2 at most: an array with one error', begin: batchLimit(2) },
  { title: 'batches of 2 at most: -32600 invalid request', begin: smallBatches(2, INVALID) },
  {
    title: 'answers of a batch in another order',
    begin: () => ({ batch: (answers) => answers.toReversed() }),
  },
  {
    title: 'ids of a batch as texts',
    begin: () => ({ batch: (answers) => answers.map((answer) => ({ ...answer, id: String(answer.id) })) }),
  },
])

// --- e: a filter takes few addresses

const fewAddresses = (limit: number): ProviderFault['begin'] => {
  return () => ({
    call: (call) =>
      [filterOf(call)?.address ?? []].flat().length > limit
        ? refusal(-32602, `invalid argument 0: exceed max addresses or topics per search position (${limit})`)
        : undefined,
  })
}

const ADDRESSES: readonly ProviderFault[] = [
  { row: 'e', title: 'a filter takes 30 addresses', begin: fewAddresses(30), pools: 70 },
  { row: 'e', title: 'a filter takes 1,000 addresses', begin: fewAddresses(1_000), pools: 1_100 },
]

// --- f: logs by block hash

const byHash = (outcome: Outcome, answers = Number.POSITIVE_INFINITY): ProviderFault['begin'] => {
  return () => {
    let left = answers
    return { call: (call) => (filterOf(call)?.blockHash !== undefined && left-- > 0 ? outcome : undefined) }
  }
}

const BY_HASH: readonly ProviderFault[] = [
  {
    row: 'f',
    title: 'logs by block hash: -32602',
    begin: byHash(refusal(-32602, 'invalid argument 0: unknown field "blockHash"')),
  },
  {
    row: 'f',
    title: 'logs by block hash: -32000',
    begin: byHash(refusal(-32000, 'must specify fromBlock and toBlock')),
  },
  { row: 'f', title: 'logs by block hash: -32603', begin: byHash(refusal(-32603, 'Internal error')) },
  { row: 'f', title: 'logs by block hash: empty for a while', begin: byHash({ result: [] }, 12) },
]

// --- g: the same log twice

const repeated = (change: (logs: readonly unknown[]) => readonly unknown[]): ProviderFault['begin'] => {
  return () => ({
    result: (call, result) => (filterOf(call) && Array.isArray(result) ? change(result) : result),
  })
}

const TWICE: readonly ProviderFault[] = [
  { row: 'g', title: 'each log twice', begin: repeated((logs) => logs.flatMap((log) => [log, log])) },
  { row: 'g', title: 'the first log again at the end', begin: repeated((logs) => [...logs, ...logs.slice(0, 1)]) },
]

// --- h: encodings

const encoded = (encoding: string, change: (body: Buffer) => Buffer): ProviderFault['begin'] => {
  return () => ({
    encode(plain) {
      const body = change(plain)
      const headers = { 'content-length': String(body.length) }
      return { headers: encoding === '' ? headers : { ...headers, 'content-encoding': encoding }, body }
    },
  })
}

/** A frame of RFC 8878 whose blocks are not compressed. */
function zstdFrame(body: Buffer): Buffer {
  const most = 65_536
  const blocks = Array.from({ length: Math.ceil(body.length / most) }, (_, index) => {
    const content = body.subarray(index * most, (index + 1) * most)
    const isLast = (index + 1) * most >= body.length
    const head = Buffer.alloc(3)
    head.writeUIntLE(content.length * 8 + Number(isLast), 0, 3)
    return Buffer.concat([head, content])
  })
  return Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58]), ...blocks])
}

const ENCODINGS: readonly ProviderFault[] = ofHttp('h', [
  { title: 'Content-Encoding br', begin: encoded('br', (body) => brotliCompressSync(body)) },
  { title: 'Content-Encoding deflate', begin: encoded('deflate', (body) => deflateSync(body)) },
  { title: 'Content-Encoding zstd', begin: encoded('zstd', zstdFrame) },
  { title: 'Content-Encoding is a charset', begin: encoded('utf-8', (body) => body) },
  { title: 'gzip without a Content-Encoding', begin: encoded('', (body) => gzipSync(body)) },
])

export const PROVIDER_FAULTS: readonly ProviderFault[] = [
  { row: '–', title: 'no fault', begin: () => ({}) },
  ...EXPIRED,
  ...LOW_FINALITY,
  ...HEAVY,
  ...BATCHES,
  ...ADDRESSES,
  ...BY_HASH,
  ...TWICE,
  ...ENCODINGS,
]
