/** JSON-RPC over HTTP: calls of one turn are sent as one batch, as large as the endpoint accepts. Answers are matched by id, never by place. */
import { type Client, createClient, custom, TimeoutError } from 'viem'
import { limitConcurrency } from '../../api/lib/concurrency-limit.ts'
import { isAboutBatches, isWorthSplitting, saysTheSame, settleBatch, type Unanswered } from './batch-answer.ts'
import { BatchSize } from './batch-size.ts'
import { isAnswer, isRange, type JsonRpcResponse, type PendingCall, settle } from './call.ts'
import { type EndpointAddress, type Post, postTo } from './http-post.ts'

/** Resolves when so many calls may be sent again. */
export type MayResend = (calls: number) => Promise<void>

type Transport = { name: string; post: Post; size: BatchSize; mayResend: MayResend }

/** Requests at once: an endpoint that takes single calls only gets hundreds of them in one turn. */
const MAX_IN_FLIGHT = 16

/** Sends each call until it is answered once: `ingest/rpc/endpoints/endpoints.ts` decides on retries. */
export function openHttp(address: EndpointAddress, mayResend: MayResend = async () => {}): Client {
  const { name } = address
  const limited = limitConcurrency({ maxRunning: MAX_IN_FLIGHT })
  const postOnce = postTo(address)
  const post: Post = (body) => limited(() => postOnce(body))
  const to: Transport = { name, post, size: new BatchSize(), mayResend }
  let waiting: PendingCall[] = []
  let lastId = 0

  function request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
    return new Promise((resolve, reject) => {
      // A range's logs and its last header are asked for in one turn: they take one round trip.
      if (waiting.length === 0) setImmediate(sendWaiting)
      waiting.push({ body: { jsonrpc: '2.0', id: ++lastId, method, params }, resolve, reject })
    })
  }

  function sendWaiting(): void {
    const calls = waiting
    waiting = []
    if (to.size.isSuspect && calls.length > 1) void sendSingly(to, calls)
    else for (const batch of batchesOf(calls, to.size.most)) void send(to, batch)
  }

  return createClient({ name, transport: custom({ request }, { retryCount: 0 }) })
}

/** The last batch had no answer in time: where single calls have one, the endpoint may never answer a batch. */
async function sendSingly(to: Transport, calls: readonly PendingCall[]): Promise<void> {
  const failures = await Promise.all(calls.map((call) => sendAlone(to, call)))
  if (failures.every(isAnswer)) to.size.confirmed()
}

/** Settles every call. False where the endpoint failed to answer one of them. */
async function send(to: Transport, batch: readonly PendingCall[]): Promise<boolean> {
  const { size } = to
  const [first] = batch
  if (first && batch.length === 1) return isAnswer(await sendAlone(to, first))
  const unanswered = await sendTogether(to, batch)
  if (!unanswered) {
    size.answered(batch.length)
    return true
  }
  if (isWorthSplitting(unanswered.error)) return sendSmaller(to, unanswered, batch.length)
  if (unanswered.error instanceof TimeoutError) size.late(batch.length)
  for (const call of unanswered.calls) call.reject(unanswered.error)
  return false
}

/** The first call goes out alone, and shows whether the batch failed or the endpoint; then the others, by its outcome. */
async function sendSmaller(to: Transport, { calls, error, isRefusal }: Unanswered, length: number): Promise<boolean> {
  const { size } = to
  const [first, ...others] = calls
  if (first) await to.mayResend(1)
  const failure = first && (await sendAlone(to, first))
  if (calls.length === length && (!isAnswer(failure) || saysTheSame(failure, error))) {
    for (const call of others) call.reject(error)
    return false
  }
  if (isRefusal) size.refused(length)
  await to.mayResend(others.length)
  const half = Math.max(1, Math.floor(length / 2))
  const next = others.slice(0, half)
  const isNext = next.length === 0 || (await send(to, next))
  const rest = batchesOf(others.slice(half), Math.min(half, size.most))
  const areLast = await Promise.all(rest.map((batch) => send(to, batch)))
  const areAnswered = isAnswer(failure) && isNext && areLast.every((it) => it)
  if (areAnswered && !isRefusal) size.doubted(length)
  return areAnswered
}

/** Returns the error of the call, if any. */
async function sendAlone({ name, post }: Transport, call: PendingCall): Promise<unknown> {
  try {
    const answer = (await post(call.body)) as JsonRpcResponse | null
    return settle(call, Array.isArray(answer) ? answer[0] : answer, name)
  } catch (error) {
    call.reject(error)
    return error
  }
}

async function sendTogether({ name, post }: Transport, batch: readonly PendingCall[]) {
  try {
    return settleBatch(batch, await post(batch.map(({ body }) => body)), name)
  } catch (error) {
    return { calls: batch, error, isRefusal: isAboutBatches(error) }
  }
}

/** One range of logs a batch at most: its answer is long, and the next one's is on its way while it is read. */
function batchesOf(calls: readonly PendingCall[], most: number): PendingCall[][] {
  const batches: PendingCall[][] = []
  let hasRange = false
  for (const call of calls) {
    const last = batches.at(-1)
    if (last && last.length < most && !(hasRange && isRange(call))) last.push(call)
    else {
      batches.push([call])
      hasRange = false
    }
    hasRange ||= isRange(call)
  }
  return batches
}
