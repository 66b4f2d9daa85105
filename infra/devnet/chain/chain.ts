/** Writes a devnet's chain: block by block, each with its transactions and its time. */
import type { Address, Hash, Hex } from 'viem'
import type { UnixSeconds } from '../../../ingest/model/message.ts'
import type { Anvil } from './anvil.ts'
import type { Rpc, RpcCall } from './rpc.ts'

export type Chain = {
  rpc: Rpc
  /** The deployer, then the traders. */
  accounts: readonly [Address, ...Address[]]
  /** Puts transactions in the pool, in this order; answers their hashes. */
  send(transactions: readonly Transaction[]): Promise<Hash[]>
  /** Mines one block with these transactions, in this order, in a single request; answers their hashes. */
  mineBlock(transactions: readonly Transaction[], timestamp: UnixSeconds): Promise<Hash[]>
  /** After the node has been taken back to an older block. */
  readNonces(): Promise<void>
}

export type Transaction = {
  from: Address
  /** None where it deploys. */
  to?: Address
  data: Hex
  value?: bigint
}

/** Enough for the largest contract; asking for an estimate would cost a call each. */
const GAS: Hex = '0x2625a00'

/** Counts the accounts' nonces itself: the calls of a batch may overtake one another in the node. */
export async function openChain({
  rpc,
  accounts: [deployer, ...traders],
}: Pick<Anvil, 'rpc' | 'accounts'>): Promise<Chain> {
  if (!deployer) throw new Error('the node has no accounts')
  const accounts = [deployer, ...traders] as const
  const nonces = new Map<Address, number>()
  await readNonces()

  async function readNonces() {
    const counts = await rpc(
      accounts.map((account) => ({ method: 'eth_getTransactionCount', params: [account, 'latest'] })),
    )
    for (const [index, account] of accounts.entries()) nonces.set(account, Number(counts[index]))
  }

  function sendCall({ from, to, data, value = 0n }: Transaction): RpcCall {
    const nonce = nonces.get(from) ?? 0
    nonces.set(from, nonce + 1)
    const numbers = { value: hex(value), nonce: hex(nonce), gas: GAS, gasPrice: '0x0' }
    return { method: 'eth_sendTransaction', params: [{ from, ...(to && { to }), data, ...numbers }] }
  }

  /** After a failure it is unknown which transactions arrived: the nonces are read from the node. */
  async function request(calls: readonly RpcCall[]): Promise<unknown[]> {
    try {
      return await rpc(calls)
    } catch (error) {
      await readNonces().catch(() => undefined)
      throw error
    }
  }

  return {
    rpc,
    accounts,
    readNonces,
    send: async (transactions) => (await request(transactions.map(sendCall))) as Hash[],
    async mineBlock(transactions, timestamp) {
      const mine = [
        { method: 'evm_setNextBlockTimestamp', params: [timestamp] },
        { method: 'evm_mine', params: [] },
      ]
      const answers = await request([...transactions.map(sendCall), ...mine])
      return answers.slice(0, transactions.length) as Hash[]
    },
  }
}

function hex(value: number | bigint): Hex {
  return `0x${value.toString(16)}`
}

export async function requireSuccess(chain: Chain, hashes: readonly Hash[], what: string): Promise<void> {
  if (hashes.length === 0) return
  const calls = hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] }))
  const receipts = (await chain.rpc(calls)) as ({ status: Hex } | null)[]
  const failed = receipts.findIndex((receipt) => receipt?.status !== '0x1')
  if (failed !== -1)
    throw new Error(`${what} failed on the devnet: transaction ${failed + 1} of ${hashes.length} (${hashes[failed]})`)
}
