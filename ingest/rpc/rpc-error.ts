/** Classification of RPC errors: providers report the same few problems with different texts and codes. */
import { BaseError, ResponseBodyTooLargeError, RpcRequestError } from 'viem'
import { hostsOnly } from '../lib/hosts-only.ts'
import type { RpcProblem } from '../model/rpc-problem.ts'
import { type Asked, askedOf, describeAsked } from './asked.ts'

/** An answer that is well-formed for the transport and cannot be used. */
export class BadAnswer extends Error {
  override readonly name = 'BadAnswer'
  readonly problem: { kind: 'behind' | 'malformed' | 'contradictory' | 'unsupported' | 'pruned' }
  /** No sound node answers so, whatever it is asked: the endpoint rests longer each time. */
  readonly isFault: boolean

  constructor(kind: BadAnswer['problem']['kind'], message: string, { isFault = false } = {}) {
    super(message)
    this.problem = { kind }
    this.isFault = isFault
  }
}

/** All endpoints failed; the problem is the last one's. Contains the host, never the path, which contains a key. */
export class RpcFailed extends Error {
  override readonly name = 'RpcFailed'
  readonly endpoint: string
  readonly problem: RpcProblem
  /** The request that failed; absent where an answer cannot be used. */
  readonly asked: Asked | undefined
  /** The answer came, and this process does not accept it. */
  readonly isBadAnswer: boolean
  /** As in `BadAnswer`; or the answer is longer than any can be. */
  readonly isFault: boolean
  /** No endpoint that is up has the blocks. False of other problems than `pruned`. */
  isEverywhere = false
  /** Another endpoint, or this one, failed as it does at a range that is too wide. */
  isWidthRefused = false
  /** An endpoint that is behind, rests, or answers ill-formed may have the blocks. */
  mayPass = false

  constructor(endpoint: string, problem: RpcProblem, error: unknown) {
    const asked = askedOf(error)
    const what = asked ? describeAsked(asked) : 'as it was asked'
    super(`${endpoint} did not answer ${what} (${problem.kind}): ${wordsOf(error)}`)
    this.asked = asked
    this.endpoint = endpoint
    this.problem = problem
    this.isBadAnswer = badAnswerIn(error) !== undefined
    this.isFault = isFault(error)
  }
}

/** Whether no endpoint has the blocks that were asked for any more. */
export function isPruned(error: unknown): boolean {
  return error instanceof RpcFailed && error.problem.kind === 'pruned' && error.isEverywhere
}

/** Gateways report a range that takes too long in many ways, and a node that is down in the same ones. */
export function mayBeHeavy(error: unknown): boolean {
  const { kind } = error instanceof RpcFailed ? error.problem : classify(error)
  const isBadAnswer = error instanceof RpcFailed ? error.isBadAnswer : badAnswerIn(error) !== undefined
  if (kind === 'behind' || kind === 'refused') return !isBadAnswer
  return kind === 'timeout' || kind === 'unreachable' || kind === 'malformed'
}

/** Whether a narrower range may be answered. */
export function isOfWidth(error: RpcFailed): boolean {
  const { kind } = error.problem
  return kind === 'range-capped' || kind === 'too-many-results' || mayBeHeavy(error)
}

function badAnswerIn(error: unknown): BadAnswer | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof BadAnswer) return cause
  return undefined
}

/** Whether no sound endpoint answers so. */
export function isFault(error: unknown): boolean {
  if (badAnswerIn(error)?.isFault) return true
  return error instanceof BaseError && error.walk((cause) => cause instanceof ResponseBodyTooLargeError) !== null
}

/** Whether the error concerns a node's answer; all others are bugs. */
export function isRpcError(error: unknown): boolean {
  return error instanceof BaseError || error instanceof BadAnswer
}

/** The node answered with an error of JSON-RPC: the request arrived. */
export function isNodeError(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof RpcRequestError) !== null
}

/** Text before code: −32005 means a rate limit at one provider and too many results at another. */
export function classify(error: unknown): RpcProblem {
  const bad = badAnswerIn(error)
  if (bad) return bad.problem
  const said = readError(error)
  return byText(said) ?? byStatus(said) ?? byCode(said) ?? byName(said)
}

type Said = { text: string; names: string[]; codes: unknown[]; status?: number; headers?: Headers; data?: unknown }

/** Characters that are matched: a node may send any number of them. */
const MAX_TEXT = 4_096

/** Messages along the causes, from the node only: viem's own messages quote the request. */
function readError(error: unknown): Said {
  const said: Said = { text: '', names: [], codes: [] }
  const texts = new Set<string>()
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    said.names.push(cause.name)
    const { details, code, status, headers, data } = cause as Error & Record<string, unknown>
    if (!(cause instanceof BaseError)) texts.add(cause.message)
    else if (typeof details === 'string') {
      texts.add(details)
      // An HTTP error's body may be a JSON-RPC error.
      for (const [, stated] of details.matchAll(/"code": ?(-?\d+)/g)) said.codes.push(Number(stated))
    }
    if (code !== undefined) said.codes.push(code)
    if (typeof status === 'number') said.status = status
    if (headers instanceof Headers) said.headers = headers
    if (data !== undefined) said.data = data
  }
  said.text = [...texts]
    .map((text) => text.slice(0, MAX_TEXT))
    .join('\n')
    .slice(0, MAX_TEXT)
  return said
}

/** One line without addresses. */
export function wordsOf(error: unknown): string {
  const { text, status } = readError(error)
  const words =
    hostsOnly(text.replace(/\s+/g, ' ')).slice(0, 300) || String(error instanceof Error ? error.name : error)
  return status === undefined ? words : `HTTP ${status}, ${words}`
}

const RATE_LIMITED =
  /too many (concurrent )?requests?\b|rate.?limit|rate exceeded|request limit|(requests?|compute units|calls?|rps)[^.]* per (second|minute|day)|RPS limit|over (rate|capacity)|\bcapacity\b.*exceeded|exceeded its|quota|throughput|try again later/i
const REVERTED = /execution reverted|always failing transaction|returned no data/i
const BEHIND =
  /header (for hash )?not found|not (currently )?canonical|unknown block|block( \S+)? (was )?not found|could not find block|blockHash cannot be found|invalid block tag .* Latest block number|not yet imported|beyond (the )?(current |latest )|block is out of range|specified in filter|resource not found|still syncing/i
const PRUNED =
  /missing trie node|prun(ed|ing)\b|historical (state|RPC)|state (\S+ )?(is )?(not available|unavailable|already discarded)|no state (available|found)|archive|lowest height|upstream lower height|neither stored nor reproducible|data before \S+ is not available/i
const TOO_MANY_VALUES =
  /max(imum)? (number of )?(addresses|topics)|too many (addresses|topics)|less number of address|contains \d+ filters|\b\d+ (addresses|topics)/i
const UNSUPPORTED = /method \S* ?(not found|does not exist|is not)|not supported|unsupported|specify an address/i
const TOO_MANY =
  /returned more than|more than [\d,]+ (results|logs)|response size|too many (logs|results)|max(imum)? results|exceeds? limit of \d+$|query (timeout|timed? ?out)|reduc(e|ing) (your|the) (block )?range|set too large|(length|size) limit exceeded|response (is )?too|body (is )?too large|duration must not/i
const CAPPED =
  /(blocks?|max|maximum|allowed|requested|[’']) range|range [\d,]+ exceeds|blocks distance|range (is )?too|range limit|limited to|ranges over|too many blocks|wide blocks|at most [\d,]+ blocks/i

function byText(said: Said): RpcProblem | undefined {
  const { text } = said
  if (RATE_LIMITED.test(text)) return rateLimited(said)
  if (REVERTED.test(text)) return { kind: 'reverted' }
  if (BEHIND.test(text)) return { kind: 'behind' }
  if (TOO_MANY_VALUES.test(text)) {
    const maxValues = lastNumber(text)
    return { kind: 'too-many-values', ...(maxValues !== undefined && { maxValues }) }
  }
  // “range 1000000 exceeds limit of 10000” counts blocks, “logs matched by query exceeds limit of 10000” counts logs.
  const ofBlocks = /range [\d,]+ exceeds|free tier plan|up to a [\d,]+k? block range\. /i.test(text)
  if (TOO_MANY.test(text) && !ofBlocks) {
    const suggested = suggestedRange(said)
    return { kind: 'too-many-results', ...(suggested && { suggested }) }
  }
  if (CAPPED.test(text) && !/invalid block range|ranges? .*(free|paid) .*method/i.test(text)) {
    const maxBlocks = lastNumber(text)
    return { kind: 'range-capped', ...(maxBlocks !== undefined && { maxBlocks }) }
  }
  if (PRUNED.test(text)) return { kind: 'pruned' }
  if (UNSUPPORTED.test(text)) return { kind: 'unsupported' }
  if (/request timeout|timed? ?out/i.test(text)) return { kind: 'timeout' }
  return undefined
}

function byStatus(said: Said): RpcProblem | undefined {
  const { status } = said
  if (status === undefined || status < 300) return undefined
  if (status === 429) return rateLimited(said)
  if (status === 413) return { kind: 'too-many-results' }
  if (status === 408 || status === 504) return { kind: 'timeout' }
  if (status >= 500) return said.headers?.has('retry-after') ? rateLimited(said) : { kind: 'unreachable' }
  return { kind: 'refused' }
}

function byCode(said: Said): RpcProblem | undefined {
  for (const code of said.codes) {
    if (code === 429 || code === -32005 || code === -32007 || code === -32016) return rateLimited(said)
    if (code === 3) return { kind: 'reverted' }
    if (code === 4444) return { kind: 'pruned' }
    // EIP-1474 means a missing resource by it, gateways anything: only a text that says so makes the node behind.
    if (code === -32001 && /not (be )?found|missing|unknown|does not exist/i.test(said.text)) return { kind: 'behind' }
    if (code === -32601 || code === -32004) return { kind: 'unsupported' }
    if (code === -32600 || code === -32602) return { kind: 'refused' }
    if (code === -32700) return { kind: 'malformed' }
  }
  return undefined
}

function byName({ names, codes }: Said): RpcProblem {
  if (names.includes('ResponseBodyTooLargeError')) return { kind: 'too-many-results' }
  if (names.some((name) => name.startsWith('ContractFunction')) && !names.includes('HttpRequestError')) {
    if (names.some((name) => /Reverted|ZeroData/.test(name))) return { kind: 'reverted' }
  }
  if (names.includes('TimeoutError') || codes.some((code) => /TIMEOUT|ETIMEDOUT/.test(String(code)))) {
    return { kind: 'timeout' }
  }
  if (names.includes('SyntaxError')) return { kind: 'malformed' }
  return { kind: 'unreachable' }
}

function rateLimited(said: Said): RpcProblem {
  const retryAfterMs = retryAfter(said)
  return { kind: 'rate-limited', ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

/** `Retry-After` in seconds or as a date; in the error's data (Infura), or in the text (“retry in 10m0s”, Ankr). */
function retryAfter({ headers, data, text }: Said): number | undefined {
  const header = headers?.get('retry-after')
  if (header) {
    if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1_000
    const date = Date.parse(header)
    if (!Number.isNaN(date)) return Math.max(0, date - Date.now())
  }
  const seconds = (data as { rate?: { backoff_seconds?: unknown } } | undefined)?.rate?.backoff_seconds
  if (typeof seconds === 'number') return seconds * 1_000
  const words = /(?:retry|try again) in (?:(\d+)m)?(\d+(?:\.\d+)?) ?s/i.exec(text)
  return words ? (Number(words[1] ?? 0) * 60 + Number(words[2])) * 1_000 : undefined
}

/** Suggested range in the error's data (Infura), as `[0x1, 0x2]` (Alchemy, Infura) or as `1-2` (reth). */
function suggestedRange({ data, text }: Said): { from: number; to: number } | undefined {
  const stated = data as { from?: unknown; to?: unknown } | undefined
  const found =
    typeof stated?.from === 'string' && typeof stated.to === 'string'
      ? [stated.from, stated.to]
      : (/\[(0x[0-9a-f]+), ?(0x[0-9a-f]+)\]/i.exec(text) ?? /range (\d+)-(\d+)/i.exec(text))?.slice(1)
  const [from, to] = (found ?? []).map(Number)
  return Number.isSafeInteger(from) && Number.isSafeInteger(to) ? { from: from as number, to: to as number } : undefined
}

/** The limit is the last number of the text: “block range = 5120, max block range = 5000”, “limited to a 10,000 range”, “2K”. */
function lastNumber(text: string): number | undefined {
  const plain = text.replace(/https?:\/\/\S+|\[?0x[0-9a-f]+\]?|eth_\w+|HTTP \d+|"(id|code)": ?-?\d+|-32\d{3}/gi, ' ')
  const found = [...plain.matchAll(/\b(\d[\d,]*)(k?)\b/gi)].at(-1)
  const blocks = found && Number(found[1]?.replaceAll(',', '')) * (found[2] ? 1_000 : 1)
  return blocks ? blocks : undefined
}
