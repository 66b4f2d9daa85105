/** One JSON-RPC call that waits for its answer, and the reading of the answer. */
import { HttpRequestError, RpcRequestError } from 'viem'
import { BadAnswer, classify } from '../../ingest/rpc/rpc-error.ts'

export type PendingCall = {
  body: { jsonrpc: '2.0'; id: number; method: string; params?: unknown }
  resolve(result: unknown): void
  reject(error: unknown): void
}

export type JsonRpcResponse = { id?: unknown; result?: unknown; error?: unknown }

/** Characters of an error text that are kept. */
const MAX_MESSAGE = 4_096

/** Resolves or rejects the call by its answer; returns the error, if any. `name` is that of the endpoint. */
export function settle(
  { body, resolve, reject }: PendingCall,
  answer: JsonRpcResponse | null | undefined,
  name: string,
): unknown {
  const { id, error, result } = answer ?? {}
  let failure: unknown
  if (id !== undefined && id !== null && String(id) !== String(body.id))
    failure = malformed(`The node answered another request than ${body.method}.`, name)
  else if (error !== undefined && error !== null)
    failure = new RpcRequestError({ body, error: rpcErrorIn(error), url: name })
  else if (result === undefined)
    failure = malformed(`The node answered neither a result nor an error to ${body.method}.`, name)
  if (failure === undefined) resolve(result)
  else reject(failure)
  return failure
}

/** `isFault`: no sound node answers any request so. */
export function malformed(message: string, name: string, { isFault = false } = {}): HttpRequestError {
  return new HttpRequestError({ url: name, cause: new BadAnswer('malformed', message, { isFault }) })
}

/** The error of an answer that stands for several calls. */
export function refusal(answer: unknown, name: string): HttpRequestError {
  const details = (JSON.stringify(answer) ?? '').slice(0, MAX_MESSAGE)
  return new HttpRequestError({ url: name, status: 200, details })
}

/** Some gateways answer a text as the error. Data of any length may come with it: a few words of them are read. */
export function rpcErrorIn(error: unknown): { code: number; message: string; data?: unknown } {
  const { code, message, data } = (typeof error === 'object' ? error : { message: error }) as Record<string, unknown>
  const text = typeof message === 'string' ? message : (JSON.stringify(error) ?? '')
  const isShort = data !== undefined && (JSON.stringify(data) ?? '').length <= MAX_MESSAGE
  return { code: numberIn(code), message: text.slice(0, MAX_MESSAGE), ...(isShort && { data }) }
}

function numberIn(code: unknown): number {
  return typeof code === 'number' || typeof code === 'string' ? Number(code) : 0
}

/** The endpoint answered the call, with a result or an error of its own. */
export function isAnswer(failure: unknown): boolean {
  return failure === undefined || (failure instanceof RpcRequestError && classify(failure).kind !== 'rate-limited')
}

export function isRange({ body: { method, params } }: PendingCall): boolean {
  return method === 'eth_getLogs' && Array.isArray(params) && 'fromBlock' in params[0]
}
