/**
 * Amounts that hooks gave or took beside swaps, by their own events. An event counts where the pool's own hook emits it, may do what it says, and names the
 * caller of a swap of the same transaction: a HookSwap belongs to the caller's next Swap of the pool, a HookFee to the last one before it, unless the
 * caller has changed its liquidity since.
 */
import { decodeHookEvent, HOOK_TOPICS } from '../decode/decode-hooks.ts'
import { decodeV4 } from '../decode/decode-v4.ts'
import type { HookEvent, Swap } from '../decode/event.ts'
import { mayTakeAfter, mayTakeBefore, type PoolId } from '../model/pool.ts'
import type { HookAmounts, HookAmountTable } from '../model/tick.ts'
import type { RpcLog } from '../rpc/rpc.ts'
import type { Sources } from './events.ts'

/** `places`: of the logs that are events of hooks, ascending. Their pools are resolved. `logs` has all swaps of their transactions. */
export function readHookAmounts(
  sources: Pick<Sources, 'network' | 'registry'>,
  logs: readonly RpcLog[],
  places: readonly number[],
): HookAmountTable {
  const table = new Map<number, Map<number, HookAmounts>>()
  let end = 0
  for (const place of places) {
    // Each transaction is read once.
    if (place < end) continue
    const hash = logs[place]?.transactionHash
    let start = place
    while (start > end && logs[start - 1]?.transactionHash === hash) start--
    end = place + 1
    while (end < logs.length && logs[end]?.transactionHash === hash) end++
    const transaction = new HookedSwaps(sources)
    for (let at = start; at < end; at++) transaction.add(logs[at] as RpcLog)
    const block = Number(logs[place]?.blockNumber)
    for (const [logIndex, amounts] of transaction.amounts()) {
      const ofBlock = table.get(block) ?? new Map<number, HookAmounts>()
      table.set(block, ofBlock.set(logIndex, amounts))
    }
  }
  return table
}

type HookTrade = HookEvent & { kind: 'hook-swap' }

/** The sums of a swap's events. Where a HookSwap does not say who paid which of its amounts, they are `open`. */
class HookSums {
  amount0 = 0n
  amount1 = 0n
  #open0 = 0n
  #open1 = 0n
  #isUnknown = false

  add(event: HookEvent): void {
    const { amount0, amount1 } = event
    if (event.kind === 'hook-fee') this.#pay(amount0, amount1)
    else if (amount0 > 0n && amount1 > 0n) this.#addPositive(event)
    else if (isContradiction(event)) this.#isUnknown = true
    else this.#pay(amount0, amount1)
  }

  #addPositive({ amount0, amount1, fee0, fee1 }: HookTrade): void {
    if (fee0 > 0n && fee1 === 0n) this.#pay(amount0, -amount1)
    else if (fee1 > 0n && fee0 === 0n) this.#pay(-amount0, amount1)
    else {
      this.#open0 += amount0
      this.#open1 += amount1
    }
  }

  #pay(amount0: bigint, amount1: bigint): void {
    this.amount0 -= amount0
    this.amount1 -= amount1
  }

  /** Undefined where the events leave a direction open, and nothing of the swap went through the pool. */
  beside(swap: Swap): HookAmounts | undefined {
    const paid = paidToken(swap)
    if (this.#isUnknown || (paid === undefined && this.#open0 > 0n)) return undefined
    const sign = paid === 1 ? 1n : -1n
    return { amount0: this.amount0 + sign * this.#open0, amount1: this.amount1 - sign * this.#open1 }
  }
}

/** Positive is what the taker paid, negative what it received: both are not received, and a fee is of the token that was paid. */
function isContradiction({ amount0, amount1, fee0, fee1 }: HookTrade): boolean {
  return (amount0 < 0n && amount1 < 0n) || (amount0 > 0n && fee1 > 0n) || (amount1 > 0n && fee0 > 0n)
}

/** The token that the taker paid to the pool; undefined where nothing moved. */
function paidToken({ amount0, amount1 }: Swap): 0 | 1 | undefined {
  if (amount0 < 0n || amount1 > 0n) return 0
  return amount1 < 0n || amount0 > 0n ? 1 : undefined
}

/** The swaps of one transaction. */
class HookedSwaps {
  readonly #sources: Pick<Sources, 'network' | 'registry'>
  /** By pool and caller, as the next one: events before their swap. */
  readonly #pending = new Map<string, HookSums>()
  readonly #last = new Map<string, { swap: Swap; sums: HookSums | undefined }>()
  /** By log index. */
  readonly #swaps = new Map<number, { swap: Swap; sums: HookSums }>()

  constructor(sources: Pick<Sources, 'network' | 'registry'>) {
    this.#sources = sources
  }

  add(log: RpcLog): void {
    const event = isHookEvent(log) ? decodeHookEvent(log) : decodeV4(log, this.#sources.network.v4.poolManager)
    switch (event?.kind) {
      case 'hook-swap':
      case 'hook-fee':
        if (this.#isBelieved(event)) this.#addEvent(event)
        break
      case 'swap':
        this.#addSwap(event)
        break
      case 'liquidity':
        this.#last.delete(keyOf(event))
        break
    }
  }

  #addEvent(event: HookEvent): void {
    const key = keyOf(event)
    if (event.kind === 'hook-swap') {
      const sums = this.#pending.get(key) ?? new HookSums()
      sums.add(event)
      this.#pending.set(key, sums)
      return
    }
    const last = this.#last.get(key)
    if (!last) return
    const { swap, sums = new HookSums() } = last
    sums.add(event)
    last.sums = sums
    this.#swaps.set(swap.logIndex, { swap, sums })
  }

  #addSwap(swap: Swap): void {
    const key = keyOf(swap)
    const sums = this.#pending.get(key)
    this.#pending.delete(key)
    this.#last.set(key, { swap, sums })
    if (sums) this.#swaps.set(swap.logIndex, { swap, sums })
  }

  /** Any contract can emit such an event, and a hook without the right to take or give can do neither. */
  #isBelieved({ kind, pool, hook }: HookEvent): boolean {
    const resolution = this.#sources.registry.get(pool)
    if (resolution?.kind !== 'pool' || resolution.pool.hooks !== hook) return false
    return kind === 'hook-swap' ? mayTakeBefore(hook) : mayTakeAfter(hook)
  }

  *amounts(): Generator<[logIndex: number, HookAmounts]> {
    for (const [logIndex, { swap, sums }] of this.#swaps) {
      const amounts = sums.beside(swap)
      if (amounts) yield [logIndex, amounts]
    }
  }
}

function isHookEvent({ topics: [topic] }: RpcLog): boolean {
  return topic === HOOK_TOPICS.hookSwap || topic === HOOK_TOPICS.hookFee
}

function keyOf({ pool, sender }: { pool: PoolId; sender?: string }): string {
  return `${pool} ${sender}`
}
