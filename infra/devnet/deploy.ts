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
import { type ContractName, readBytecode } from './compile.ts'
import {
  bytes32TokenAbi,
  deskAbi,
  noDecimalsTokenAbi,
  poolManagerAbi,
  positionManagerAbi,
  stateViewAbi,
  tokenAbi,
  uniswapBytecode,
} from './contracts.ts'
import { type Chain, requireSuccess, type Transaction } from './chain.ts'
import { type DevToken, TOKEN_PLANS, type TokenPlan } from './token.ts'

export type Deployment = {
  factory: Address
  poolManager: Address
  positionManager: Address
  stateView: Address
  desk: Address
  /** By symbol; the native currency is not among them. */
  tokens: readonly DevToken[]
}

/** Whoever first deployed Multicall3, on every chain as its first transaction: so its address is the same everywhere. */
const MULTICALL3_DEPLOYER: Address = '0x05f32B3cC3888453ff71B01135B34FF8e41263F2'
const UNSUBSCRIBE_GAS_LIMIT = 300_000n
const NOBODY: Address = '0x0000000000000000000000000000000000000000'
/** What the desk owns of each token: never runs out, and sums of it do not overflow. */
const FORTUNE = 1n << 160n

/** One block. Further tokens get addresses above those of the plan. */
export async function deployContracts(chain: Chain, timestamp: number, further: readonly TokenPlan[]): Promise<Deployment> {
  const [from] = chain.accounts
  const { tokenAddresses, addressOf } = addresses(from, TOKEN_PLANS.length + further.length)
  const planned = tokenAddresses.slice(0, TOKEN_PLANS.length).sort(byAddress)
  const tokens: DevToken[] = [
    ...TOKEN_PLANS.map((plan, index) => ({ ...plan, address: at(planned, index) })),
    ...further.map((plan, index) => ({ ...plan, address: at(tokenAddresses, TOKEN_PLANS.length + index) })),
  ]
  const weth = tokenNamed(tokens, 'WETH').address
  const deployment: Deployment = {
    factory: addressOf(0),
    poolManager: addressOf(1),
    positionManager: addressOf(2),
    stateView: addressOf(3),
    desk: addressOf(4),
    tokens,
  }
  const own = readBytecode()
  const { poolManager, desk } = deployment
  const creations: Hex[] = [
    uniswapBytecode('v3Factory'),
    creation(poolManagerAbi, uniswapBytecode('poolManager'), [from]),
    // Nobody pays through Permit2 here, and nobody looks at the positions' pictures.
    creation(positionManagerAbi, uniswapBytecode('positionManager'), [
      poolManager,
      NOBODY,
      UNSUBSCRIBE_GAS_LIMIT,
      NOBODY,
      weth,
    ]),
    creation(stateViewAbi, uniswapBytecode('stateView'), [poolManager]),
    creation(deskAbi, own.Desk, [poolManager]),
    // In the order of the nonces, which is not that of the addresses.
    ...tokenAddresses.map((address) => tokenCreation(own, tokens, address)),
  ]
  const fortunes = tokens.map((token): Transaction => {
    const data = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [desk, FORTUNE] })
    return { from, to: token.address, data }
  })
  await chain.rpc([
    { method: 'anvil_impersonateAccount', params: [MULTICALL3_DEPLOYER] },
    { method: 'anvil_setBalance', params: [desk, hex(FORTUNE)] },
  ])
  const sent = await chain.mineBlock(
    [
      ...creations.map((data): Transaction => ({ from, data })),
      ...fortunes,
      { from: MULTICALL3_DEPLOYER, data: multicall3Creation() },
    ],
    timestamp,
  )
  await chain.rpc([{ method: 'anvil_stopImpersonatingAccount', params: [MULTICALL3_DEPLOYER] }])
  await requireSuccess(chain, sent, 'deploying the contracts')
  return deployment
}

/** The addresses of what an account deploys are known beforehand: five contracts, then the tokens. */
function addresses(from: Address, tokens: number) {
  const addressOf = (nonce: number) => getContractAddress({ from, nonce: BigInt(nonce) }).toLowerCase() as Address
  return { addressOf, tokenAddresses: Array.from({ length: tokens }, (_, index) => addressOf(5 + index)) }
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
