/** Which request failed: noted beside the error, since viem's own error quotes the request together with its address. */

export type Asked = {
  method: string
  /** `5`, `5 to 100`, a tag or a hash; absent where the method is about no block. */
  blocks?: string
}

const asked = new WeakMap<Error, Asked>()

export function noteAsked(error: unknown, { method, params }: { method: string; params?: unknown }): void {
  if (!(error instanceof Error)) return
  const blocks = blocksOf(method, Array.isArray(params) ? params : [])
  asked.set(error, { method, ...(blocks !== undefined && { blocks }) })
}

/** Undefined where the error is about an answer, and not about a request. */
export function askedOf(error: unknown): Asked | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const found = asked.get(cause)
    if (found) return found
  }
  return undefined
}

/** `eth_getLogs of blocks 5 to 100`, `eth_getBlockByNumber of block latest`, `eth_chainId`. */
export function describeAsked({ method, blocks }: Asked): string {
  if (blocks === undefined) return method
  return `${method} of block${blocks.includes(' to ') ? 's' : ''} ${blocks}`
}

const BLOCK_PARAMETER: Readonly<Record<string, number>> = {
  eth_getBlockByNumber: 0,
  eth_getBlockByHash: 0,
  eth_getBlockReceipts: 0,
  eth_call: 1,
  eth_getBalance: 1,
  eth_getCode: 1,
}

function blocksOf(method: string, params: readonly unknown[]): string | undefined {
  if (method !== 'eth_getLogs') return blockOf(params[BLOCK_PARAMETER[method] ?? -1])
  const { fromBlock, toBlock, blockHash } = (params[0] ?? {}) as Record<string, unknown>
  if (blockHash !== undefined) return blockOf(blockHash)
  const [from, to] = [blockOf(fromBlock), blockOf(toBlock)]
  return from === to || to === undefined ? from : `${from} to ${to}`
}

function blockOf(block: unknown): string | undefined {
  if (typeof block === 'object' && block !== null) return blockOf((block as { blockHash?: unknown }).blockHash)
  if (typeof block !== 'string') return undefined
  return /^0x[0-9a-f]{1,13}$/i.test(block) ? String(Number(block)) : block
}
