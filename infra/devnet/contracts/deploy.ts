/** Puts Uniswap, the tokens and the pools on an empty chain. */
import { createRequire } from 'node:module'
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  stringToHex,
} from 'viem'
import { type Chain, requireSuccess, type Transaction } from '../chain/chain.ts'
import { type ContractName, readBytecode } from './compile.ts'
import {
  bytes32TokenAbi,
  noDecimalsTokenAbi,
  poolManagerAbi,
  positionManagerAbi,
  routerAbi,
  stateViewAbi,
  tokenAbi,
  uniswapBytecode,
} from './contracts.ts'
import { type DevToken, TOKEN_PLANS, type TokenPlan } from './token.ts'

export type DevContracts = {
  deployer: Address
  factory: Address
  poolManager: Address
  positionManager: Address
  stateView: Address
  router: Address
  /** The native currency is not among them. */
  tokens: readonly DevToken[]
  /** The same tokens' addresses in the order in which they are created. */
  tokensByNonce: readonly Address[]
}

/** The account that deployed Multicall3 as its first transaction on every chain: so the contract's address is the same everywhere. */
const MULTICALL3_DEPLOYER: Address = '0x05f32B3cC3888453ff71B01135B34FF8e41263F2'
/** The tokens come after the five contracts. */
const FIRST_TOKEN_NONCE = 5
const UNSUBSCRIBE_GAS_LIMIT = 300_000n
const ZERO_ADDRESS: Address = '0x0000000000000000000000000000000000000000'
/** Balance of the router in each token: never used up, and sums of it do not overflow. */
const ROUTER_BALANCE = 1n << 160n

/**
 * Where everything will be, or is since an earlier start: an account's contracts have addresses that depend on nothing else.
 * Further tokens get addresses in no order.
 */
export function deploymentOf(deployer: Address, further: readonly TokenPlan[] = []): DevContracts {
  const addressOf = (nonce: number) =>
    getContractAddress({ from: deployer, nonce: BigInt(nonce) }).toLowerCase() as Address
  const plans: readonly TokenPlan[] = [...TOKEN_PLANS, ...further]
  const addresses = plans.map((_, index) => addressOf(FIRST_TOKEN_NONCE + index))
  const planned = addresses.slice(0, TOKEN_PLANS.length).sort(byAddress)
  const ordered = [...planned, ...addresses.slice(TOKEN_PLANS.length)]
  return {
    deployer,
    factory: addressOf(0),
    poolManager: addressOf(1),
    positionManager: addressOf(2),
    stateView: addressOf(3),
    router: addressOf(4),
    tokens: plans.map((plan, index) => ({ ...plan, address: at(ordered, index) })),
    tokensByNonce: addresses,
  }
}

/** Takes one block of an empty chain. */
export async function deployContracts(chain: Chain, deployment: DevContracts, timestamp: number): Promise<void> {
  const { deployer: from, poolManager, router, tokens, tokensByNonce } = deployment
  const own = readBytecode()
  const weth = tokenNamed(tokens, 'WETH').address
  const creations: Hex[] = [
    uniswapBytecode('v3Factory'),
    creation(poolManagerAbi, uniswapBytecode('poolManager'), [from]),
    // Permit2 and the token descriptor are unused here.
    creation(positionManagerAbi, uniswapBytecode('positionManager'), [
      poolManager,
      ZERO_ADDRESS,
      UNSUBSCRIBE_GAS_LIMIT,
      ZERO_ADDRESS,
      weth,
    ]),
    creation(stateViewAbi, uniswapBytecode('stateView'), [poolManager]),
    creation(routerAbi, own.Desk, [poolManager]),
    ...tokensByNonce.map((address) => tokenCreation(own, tokens, address)),
  ]
  const mints = tokens.map((token): Transaction => {
    const data = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [router, ROUTER_BALANCE] })
    return { from, to: token.address, data }
  })
  await chain.rpc([
    { method: 'anvil_impersonateAccount', params: [MULTICALL3_DEPLOYER] },
    { method: 'anvil_setBalance', params: [router, hex(ROUTER_BALANCE)] },
    // It pays for the ether of the first positions.
    { method: 'anvil_setBalance', params: [from, hex(ROUTER_BALANCE)] },
  ])
  const transactions = [
    ...creations.map((data): Transaction => ({ from, data })),
    ...mints,
    { from: MULTICALL3_DEPLOYER, data: multicall3Creation() },
  ]
  const sent = await chain.mineBlock(transactions, timestamp)
  await chain.rpc([{ method: 'anvil_stopImpersonatingAccount', params: [MULTICALL3_DEPLOYER] }])
  await requireSuccess(chain, sent, 'deploying the contracts')
}

function tokenCreation(own: Record<ContractName, Hex>, tokens: readonly DevToken[], address: Address): Hex {
  const token = tokens.find((candidate) => candidate.address === address)
  if (!token) throw new Error(`no token is planned for ${address}`)
  const { name, symbol, decimals } = token
  switch (token.shape) {
    case 'plain':
      return creation(tokenAbi, own.PlainToken, [name, symbol, decimals])
    case 'bytes32':
      return creation(bytes32TokenAbi, own.Bytes32Token, [
        stringToHex(name, { size: 32 }),
        stringToHex(symbol, { size: 32 }),
      ])
    case 'no-decimals':
      return creation(noDecimalsTokenAbi, own.NoDecimalsToken, [name, symbol])
  }
}

function creation(abi: Abi, bytecode: Hex, args: readonly unknown[]): Hex {
  return encodeDeployData({ abi, bytecode, args })
}

/** viem carries it for its own use, and does not export it. */
function multicall3Creation(): Hex {
  const viem = createRequire(import.meta.url).resolve('viem')
  const constants = createRequire(viem)('./constants/contracts.js') as { multicall3Bytecode: Hex }
  return constants.multicall3Bytecode
}

export function tokenNamed(tokens: readonly DevToken[], symbol: string): DevToken {
  const token = tokens.find((candidate) => candidate.symbol === symbol)
  if (!token) throw new Error(`the devnet has no token ${symbol}; it has ${tokens.map((t) => t.symbol).join(', ')}`)
  return token
}

function byAddress(a: Address, b: Address): number {
  return BigInt(a) < BigInt(b) ? -1 : 1
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new RangeError(`no item ${index} in a list of ${list.length}`)
  return item
}

function hex(value: bigint): Hex {
  return `0x${value.toString(16)}`
}
