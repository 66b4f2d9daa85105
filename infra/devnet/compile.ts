/** Compiles the devnet's own contracts; run it to update `contracts/bytecode.json` after a change to a `.sol` file. */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Hex } from 'viem'

export const CONTRACTS = ['Desk', 'PlainToken', 'Bytes32Token', 'NoDecimalsToken', 'Mimic'] as const
export type ContractName = (typeof CONTRACTS)[number]
export type Bytecode = Record<ContractName, Hex>

const SOURCES = ['Desk.sol', 'Tokens.sol', 'Mimic.sol'] as const
const FOLDER = new URL('contracts/', import.meta.url)
const BYTECODE_FILE = new URL('bytecode.json', FOLDER)

/** Compiling takes seconds, so the devnet starts from the file; a test holds that both are the same. */
export async function compileContracts(): Promise<Bytecode> {
  // The compiler has no types of its own, and 9 MB that only this function should load.
  const { default: solc } = (await import('solc')) as unknown as { default: { compile(input: string): string } }
  const sources = Object.fromEntries(
    SOURCES.map((file) => [file, { content: readFileSync(new URL(file, FOLDER), 'utf8') }]),
  )
  const settings = {
    optimizer: { enabled: true, runs: 1000 },
    evmVersion: 'cancun',
    // No fingerprint of the source at the end: the same code gives the same bytes on every machine.
    metadata: { bytecodeHash: 'none', appendCBOR: false },
    outputSelection: { '*': { '*': ['evm.bytecode.object'] } },
  }
  const output = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity', sources, settings }))) as SolcOutput
  const problems = (output.errors ?? []).map((error) => error.formattedMessage)
  if (problems.length > 0) throw new Error(`the contracts do not compile cleanly:\n${problems.join('\n')}`)
  const compiled = Object.assign({}, ...Object.values(output.contracts)) as SolcOutput['contracts'][string]
  const entries = CONTRACTS.map((name) => [name, `0x${compiled[name]?.evm.bytecode.object}`])
  return Object.fromEntries(entries) as Bytecode
}

export function readBytecode(): Bytecode {
  return JSON.parse(readFileSync(BYTECODE_FILE, 'utf8')) as Bytecode
}

type SolcOutput = {
  errors?: { formattedMessage: string }[]
  contracts: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>
}

if (process.argv[1] === import.meta.filename) {
  writeFileSync(BYTECODE_FILE, `${JSON.stringify(await compileContracts(), null, 2)}\n`)
}
