/** Hooks on OpenZeppelin's published bases, compiled from its npm package and placed at addresses whose low bits are their rights. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { keccak_256 } from '@noble/hashes/sha3'
import { type Abi, type Address, concat, encodeDeployData, type Hex, keccak256, toHex } from 'viem'
import { type CompiledContract, compileSolidity } from '../../infra/devnet/contracts/compile.ts'
import { deploymentOf } from '../../infra/devnet/contracts/deploy.ts'
import type { TestAnvil } from './anvil.ts'

const SOURCE = new URL('../fixtures/contracts/Hooks.sol', import.meta.url)
const PACKAGE = '@openzeppelin/uniswap-hooks'
/** Deploys with CREATE2 on every chain, anvil's too. */
const DEPLOYER: Address = '0x4e59b44847b379578588920ca78fbf26c0b4956c'

/** The flags of v4-core's Hooks.sol that each has. */
const RIGHTS = {
  ShareTaker: 0b00_0100_0100_0100,
  TargetTaker: 0b00_0000_1100_0100,
  ConstantPrice: 0b10_1010_1000_1000,
  InputTaker: 0b00_0000_1000_1000,
} as const
const ALL_RIGHTS = 2 ** 14 - 1

export type PublishedHook = keyof typeof RIGHTS
export type PlacedHooks = Record<PublishedHook, { address: Address; abi: Abi }> & { crier: CompiledContract }

/** On a chain without contracts: the PoolManager comes after them, at the place of every test. */
export async function placeHooks({ chain, block }: TestAnvil): Promise<PlacedHooks> {
  const [deployer, from] = chain.accounts
  if (!from) throw new Error('the node has no second account')
  const { poolManager } = deploymentOf(deployer, [])
  const compiled = (await compileSolidity([SOURCE], readImport)) as Record<PublishedHook | 'Crier', CompiledContract>
  const names = Object.keys(RIGHTS) as PublishedHook[]
  const creations = names.map((name) => {
    const { abi, bytecode } = compiled[name]
    return { name, abi, ...placeOf(encodeDeployData({ abi, bytecode, args: [poolManager] }), RIGHTS[name]) }
  })
  const { timestamp } = await block('latest')
  const calls = creations.map(({ salt, code }) => ({ from, to: DEPLOYER, data: concat([salt, code]) }))
  await chain.mineBlock(calls, timestamp + 1)
  const hooks = creations.map(({ name, abi, address }) => [name, { abi, address }] as const)
  return {
    ...(Object.fromEntries(hooks) as Record<PublishedHook, { address: Address; abi: Abi }>),
    crier: compiled.Crier,
  }
}

/** A salt of CREATE2 for an address with these rights. */
function placeOf(code: Hex, rights: number): { address: Address; salt: Hex; code: Hex } {
  // What CREATE2 hashes: 0xff, the deployer, the salt and the hash of the code.
  const hashed = Buffer.from(concat(['0xff', DEPLOYER, toHex(0, { size: 32 }), keccak256(code)]).slice(2), 'hex')
  const salt = hashed.subarray(21, 53)
  for (let count = 0; ; count++) {
    salt.writeUInt32BE(count, 28)
    const hash = Buffer.from(keccak_256(hashed))
    if ((hash.readUInt16BE(30) & ALL_RIGHTS) === rights)
      return { address: `0x${hash.toString('hex', 12)}`, salt: toHex(salt), code }
  }
}

/** The package has the version of `@openzeppelin/contracts` that it needs beside it. */
function readImport(path: string): string {
  const own = createRequire(import.meta.url)
  const root = dirname(own.resolve(`${PACKAGE}/package.json`))
  if (path.startsWith(`${PACKAGE}/`)) return readFileSync(join(root, path.slice(PACKAGE.length)), 'utf8')
  return readFileSync(createRequire(join(root, 'package.json')).resolve(path), 'utf8')
}
