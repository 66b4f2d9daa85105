/** The devnet's contracts on go-ethereum: what tests ask of anvil, with transactions signed here and blocks built by the node. */
import { createRequire } from 'node:module'
import { type Address, type Hash, type Hex, keccak256, numberToHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { openChain } from '../../infra/devnet/chain/chain.ts'
import type { Rpc, RpcCall } from '../../infra/devnet/chain/rpc.ts'
import { deploymentOf } from '../../infra/devnet/contracts/deploy.ts'
import { HOOK, hookCode, type TestAnvil, testNode } from './anvil.ts'
import { type Geth, type GethPayload, startGeth } from './geth.ts'

export type GethChain = TestAnvil & {
  geth: Geth
  /** Puts this block, of a branch that was left, and those on top of it back in place: a reorg in one step. */
  returnTo(head: Hash): Promise<void>
}

const MNEMONIC = 'test test test test test test test test test test test junk'
const SIGNERS = Array.from({ length: 10 }, (_, addressIndex) => mnemonicToAccount(MNEMONIC, { addressIndex }))
/** As anvil writes them. */
const ACCOUNTS = SIGNERS.map(({ address }) => address.toLowerCase() as Address)
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'
const GENESIS_SECONDS = 1_700_000_000
const GAS_PRICE = 10n ** 12n
/** So far below the head is final: reorgs of a test stay above. */
const FINAL_DEPTH = 8
const RICH: Hex = `0x${(1n << 200n).toString(16)}`

/** A node whose genesis holds what cannot be deployed by a transaction of an account here. */
export async function startGethChain(
  command: string,
  flags: readonly string[] = [],
  code: Readonly<Record<Address, Hex>> = {},
): Promise<GethChain> {
  const [deployer] = ACCOUNTS
  if (!deployer) throw new Error('There are no accounts.')
  const { router } = deploymentOf(deployer)
  const codes = { ...code, [MULTICALL3]: multicall3(), [HOOK]: hookCode() }
  const alloc = {
    ...Object.fromEntries([...ACCOUNTS, router].map((address) => [address, { balance: RICH }])),
    ...Object.fromEntries(Object.entries(codes).map(([address, it]) => [address, { code: it }])),
  }
  const geth = await startGeth(command, { timestamp: GENESIS_SECONDS, alloc }, flags)
  const payloads = new Map<Hash, GethPayload>()
  const { rpc, returnTo } = driverOf(geth, payloads)
  const chain = await openChain({ rpc, accounts: ACCOUNTS })
  const node = testNode({ httpUrl: geth.httpUrl, wsUrl: geth.wsUrl, rpc, stop: geth.stop }, chain)
  return {
    ...node,
    geth,
    async returnTo(head) {
      await returnTo(head)
      await chain.readNonces()
    },
  }
}

/** Anvil's methods for tests in terms of the Engine API; all others are the node's own. */
function driverOf(geth: Geth, payloads: Map<Hash, GethPayload>) {
  let waiting: Hex[] = []
  let timestamp: number | undefined
  const snapshots: number[] = []

  async function header(tag: string): Promise<{ hash: Hash; number: Hex; timestamp: Hex }> {
    const [found] = await geth.rpc([{ method: 'eth_getBlockByNumber', params: [tag, false] }])
    return found as { hash: Hash; number: Hex; timestamp: Hex }
  }

  async function take(payload: GethPayload): Promise<void> {
    let final = payload.parentHash
    for (let depth = 1; depth < FINAL_DEPTH; depth++) final = payloads.get(final)?.parentHash ?? final
    await geth.take(payload, final)
  }

  async function mine(): Promise<null> {
    const { timestamp: before } = await header('latest')
    const payload = await geth.build(timestamp ?? Number(before) + 12, waiting)
    if (payload.transactions.length !== waiting.length) throw new Error('geth left out transactions of a block.')
    waiting = []
    timestamp = undefined
    payloads.set(payload.blockHash, payload)
    await take(payload)
    return null
  }

  async function send({ params: [asked] }: RpcCall): Promise<Hash> {
    const { from, to, data, value, nonce, gas } = asked as Record<
      'from' | 'to' | 'data' | 'value' | 'nonce' | 'gas',
      Hex
    >
    const account = SIGNERS[ACCOUNTS.indexOf(from)]
    // Multicall3 is in the genesis block: an empty transaction takes the place of its deployment.
    if (!account) return send({ method: '', params: [await emptyTransaction()] })
    const signed = await account.signTransaction({
      ...{ chainId: 1, type: 'legacy', gasPrice: GAS_PRICE, data, ...(to && { to }) },
      ...{ value: BigInt(value), nonce: Number(nonce), gas: BigInt(gas) },
    })
    waiting.push(signed)
    return keccak256(signed)
  }

  async function emptyTransaction() {
    const address = ACCOUNTS.at(-1)
    const [nonce] = await geth.rpc([{ method: 'eth_getTransactionCount', params: [address, 'latest'] }])
    return { from: address, to: address, data: '0x', value: '0x0', nonce, gas: '0x5208' }
  }

  async function one(call: RpcCall): Promise<unknown> {
    if (call.method === 'eth_sendTransaction') return send(call)
    if (call.method === 'evm_mine') return mine()
    if (call.method === 'evm_setNextBlockTimestamp') {
      timestamp = Number(call.params[0])
      return null
    }
    if (call.method === 'evm_snapshot') {
      snapshots.push(Number((await header('latest')).number))
      return numberToHex(snapshots.length - 1)
    }
    if (call.method === 'evm_revert') {
      const number = snapshots[Number(call.params[0])]
      if (number === undefined) return false
      await geth.rpc([{ method: 'debug_setHead', params: [numberToHex(number)] }])
      return true
    }
    if (call.method.startsWith('anvil_')) return null
    return (await geth.rpc([call]))[0]
  }

  const rpc: Rpc = async (calls) => {
    if (calls.every(({ method }) => /^eth_(?!sendTransaction)/.test(method))) return geth.rpc(calls)
    const answers: unknown[] = []
    for (const call of calls) answers.push(await one(call))
    return answers
  }

  async function returnTo(head: Hash): Promise<void> {
    const branch: GethPayload[] = []
    for (let payload = payloads.get(head); payload; payload = payloads.get(payload.parentHash)) {
      branch.unshift(payload)
      if ((await header(payload.blockNumber))?.hash === payload.blockHash) break
    }
    const last = branch.at(-1)
    if (!last) throw new Error(`No block ${head} was mined.`)
    for (const payload of branch) await geth.hand(payload)
    await take(last)
  }
  return { rpc, returnTo }
}

/** viem carries the code of its deployment; the contract's own follows the constructor. */
function multicall3(): Hex {
  const viem = createRequire(import.meta.url).resolve('viem')
  const { multicall3Bytecode } = createRequire(viem)('./constants/contracts.js') as { multicall3Bytecode: Hex }
  return `0x${multicall3Bytecode.slice(multicall3Bytecode.indexOf('f3fe') + 4)}`
}
