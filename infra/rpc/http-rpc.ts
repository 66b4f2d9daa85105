/** JSON-RPC over HTTP: what is asked in one turn goes out as one batch, and answers are told apart by id, never by place. */
import { type Client, createClient, custom, HttpRequestError, RpcRequestError } from 'viem'
import { BadAnswer } from '../../ingest/rpc/rpc-error.ts'
import { postTo } from './http-post.ts'

type PendingCall = {
  body: { jsonrpc: '2.0'; id: number; method: string; params?: unknown }
  resolve(result: unknown): void
  reject(error: unknown): void
}

type JsonRpcResponse = { id?: unknown; result?: unknown; error?: { code: number; message: string } }

const MAX_BATCH = 100

/** Sends each request once: `ingest/rpc/endpoints.ts` decides on retries. `name` identifies the endpoint in errors. */
export function openHttp(url: string, name: string, timeoutMs: number): Client {
  const post = postTo(url, name, timeoutMs)
  let waiting: PendingCall[] = []
  let lastId = 0
  let takesBatches = true

  function request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // A range's logs and its last header are asked for in one turn: they take one round trip.
      if (waiting.length === 0) setImmediate(sendWaiting)
      waiting.push({ body: { jsonrpc: '2.0', id: ++lastId, method, params }, resolve, reject })
    })
  }

  function sendWaiting(): void {
    const asked = waiting
    waiting = []
    for (const batch of batchesOf(asked)) send(batch)
  }

  function send(batch: readonly PendingCall[]): void {
    if (batch.length === 1 || !takesBatches) {
      for (const asked of batch) askAlone(asked).catch(asked.reject)
      return
    }
    askTogether(batch).catch((error: unknown) => {
      if (isAboutBatches(error)) {
        takesBatches = false
        return send(batch)
      }
      for (const asked of batch) asked.reject(error)
    })
  }

  async function askAlone(asked: PendingCall): Promise<void> {
    const answer = (await post(asked.body)) as JsonRpcResponse | null
    settle(asked, Array.isArray(answer) ? answer[0] : answer)
  }

  async function askTogether(batch: readonly PendingCall[]): Promise<void> {
    const answers = await post(batch.map(({ body }) => body))
    // One object stands for a whole batch where the gateway refuses it.
    if (!Array.isArray(answers))
      throw new HttpRequestError({ url: name, status: 200, details: JSON.stringify(answers) })
    const byId = new Map(answers.map((answer: JsonRpcResponse | null) => [answer?.id ?? undefined, answer]))
    // A response without an id applies to the requests that have no response of their own.
    for (const asked of batch) settle(asked, byId.get(asked.body.id) ?? byId.get(undefined))
  }

  function settle({ body, resolve, reject }: PendingCall, answer: JsonRpcResponse | null | undefined): void {
    if (answer?.error) reject(new RpcRequestError({ body, error: answer.error, url: name }))
    else if (answer?.result !== undefined) resolve(answer.result)
    else {
      const cause = new BadAnswer('malformed', `The node answered neither a result nor an error to ${body.method}.`)
      reject(new HttpRequestError({ url: name, cause }))
    }
  }

  return createClient({ name, transport: custom({ request }, { retryCount: 0 }) })
}

/** One range of logs a batch at most: its answer is long, and the next one's is on its way while it is read. */
function batchesOf(asked: readonly PendingCall[]): PendingCall[][] {
  const batches: PendingCall[][] = []
  let hasRange = false
  for (const one of asked) {
    const last = batches.at(-1)
    if (last && last.length < MAX_BATCH && !(hasRange && isRange(one))) last.push(one)
    else {
      batches.push([one])
      hasRange = false
    }
    hasRange ||= isRange(one)
  }
  return batches
}

function isRange({ body: { method, params } }: PendingCall): boolean {
  return method === 'eth_getLogs' && Array.isArray(params) && 'fromBlock' in params[0]
}

function isAboutBatches(error: unknown): boolean {
  return error instanceof HttpRequestError && error.status !== 429 && /\bbatch/i.test(error.details)
}
