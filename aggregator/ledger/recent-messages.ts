/**
 * The newest messages, whether or not they are still on the ledger. A listener appends a block once: where another message has replaced it and the next
 * block builds on it, it is placed again from here, and not only once the listener has found that the stored tip stands still.
 */
import type { Hash } from 'viem'
import { type Message, ticksIn, tipOf } from '../../ingest/model/message.ts'
import type { KnownChain } from './ledger.ts'

const MAX_MESSAGES = 256
const MAX_TICKS = 10_000

export class RecentMessages {
  readonly #byHash = new Map<Hash, Message>()
  #ticks = 0

  #add(message: Message): void {
    const { hash } = tipOf(message)
    if (this.#byHash.has(hash)) return
    this.#byHash.set(hash, message)
    this.#ticks += ticksIn(message)
    for (const [oldest, dropped] of this.#byHash) {
      if (this.#byHash.size <= MAX_MESSAGES && this.#ticks <= MAX_TICKS) return
      this.#byHash.delete(oldest)
      this.#ticks -= ticksIn(dropped)
    }
  }

  /** A rewind removes blocks for good: the listener reads them again. */
  clear(): void {
    this.#byHash.clear()
    this.#ticks = 0
  }

  /** The message, after those between the ledger and it, oldest first, where all of them are known. */
  async upTo(message: Message, ledger: KnownChain): Promise<readonly Message[]> {
    this.#add(message)
    const messages = [message]
    for (let child = message; messages.length <= MAX_MESSAGES; ) {
      const first = child.kind === 'range' ? child.from : child.number
      if (child.parentHash === undefined) break
      if ((await ledger.at(first - 1))?.hash === child.parentHash) return messages.reverse()
      const parent = this.#byHash.get(child.parentHash)
      if (!parent || tipOf(parent).number !== first - 1) break
      messages.push(parent)
      child = parent
    }
    return [message]
  }
}
