/** Batched JSON-RPC to anvil: many calls in one request, answered in order. */

export type RpcCall = { method: string; params: readonly unknown[] }
export type Rpc = (calls: readonly RpcCall[]) => Promise<unknown[]>

export class RpcError extends Error {
  readonly method: string
  constructor(method: string, message: string) {
    super(`the devnet's node refused ${method}: ${message}`)
    this.name = 'RpcError'
    this.method = method
  }
}

export function rpcOver(url: string): Rpc {
  return async (calls) => {
    const batch = calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(batch),
    })
    const answers = (await response.json()) as BatchResponse[] | BatchResponse
    if (!Array.isArray(answers)) throw new RpcError('a batch', answers.error?.message ?? `status ${response.status}`)
    return answers.map((answer) => {
      const method = calls[answer.id]?.method ?? 'a call'
      if (answer.error) throw new RpcError(method, answer.error.message)
      return answer.result
    })
  }
}

type BatchResponse = { id: number; result?: unknown; error?: { message: string } }
