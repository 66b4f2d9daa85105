/** A token's symbol, name and decimals. Any contract can be a token, so every answer is validated. */
import { type Address, type Client, erc20Abi, erc20Abi_bytes32, type Hex, hexToBytes } from 'viem'
import { NATIVE_CURRENCY, type Network, trustedToken } from '../model/network.ts'
import type { Token } from '../model/pool.ts'
import type { ReadAt } from '../rpc/capped-reads.ts'
import { readMany } from '../rpc/multicall.ts'

/** Maximum code points of a symbol or a name. */
export const MAX_TEXT = 64
/** Control, format (right-to-left marks and similar) and invisible characters, and the replacement character of invalid UTF-8. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}\uFFFD]/gu
/**
 * 10^77 is the largest power of ten in a uint256: a token with more decimals can never have a whole unit. Up to here every price lies
 * within 10^±116, since a pool's own goes to 2^±128: the inverse and the product with any volume stay normal doubles.
 */
const MAX_DECIMALS = 77

/** Takes lower-case addresses. A token without plausible decimals is undefined: it cannot be priced. */
export async function readTokens(
  client: Client,
  network: Network,
  addresses: readonly Address[],
): Promise<Map<Address, Token | undefined>> {
  const tokens = new Map<Address, Token | undefined>()
  const contracts = addresses.filter((address) => address !== NATIVE_CURRENCY)
  if (contracts.length < addresses.length) tokens.set(NATIVE_CURRENCY, nativeToken(network))
  for (const [address, { symbol, name, decimals }] of await readTokenAnswers(client, contracts)) {
    const listed = trustedToken(network, address)
    const known = decimals ?? listed?.decimals
    const token = known !== undefined && {
      address,
      symbol: symbol ?? listed?.symbols[0] ?? 'unknown',
      name: name ?? listed?.name ?? 'unknown',
      decimals: known,
    }
    tokens.set(address, token || undefined)
  }
  return tokens
}

/** A contract's answers as far as they can be shown, and reckoned with. */
export type TokenAnswers = Partial<Omit<Token, 'address'>>

/** Takes lower-case addresses of contracts. Reads the newest state where `at` is absent. */
export async function readTokenAnswers(
  client: Client,
  contracts: readonly Address[],
  at?: ReadAt,
): Promise<Map<Address, TokenAnswers>> {
  const answers = await readMany(
    client,
    contracts.flatMap((address) => [
      { address, abi: erc20Abi, functionName: 'symbol' },
      { address, abi: erc20Abi_bytes32, functionName: 'symbol' },
      { address, abi: erc20Abi, functionName: 'name' },
      { address, abi: erc20Abi_bytes32, functionName: 'name' },
      { address, abi: erc20Abi, functionName: 'decimals' },
    ]),
    at && { at },
  )
  return new Map(
    contracts.map((address, index) => {
      const [symbol, symbolBytes, name, nameBytes, decimals] = answers.slice(index * 5, index * 5 + 5)
      const [shownSymbol, shownName] = [
        cleanText(symbol) ?? cleanBytes32(symbolBytes),
        cleanText(name) ?? cleanBytes32(nameBytes),
      ]
      return [
        address,
        {
          ...(shownSymbol !== undefined && { symbol: shownSymbol }),
          ...(shownName !== undefined && { name: shownName }),
          ...(isDecimals(decimals) && { decimals }),
        },
      ]
    }),
  )
}

function nativeToken(network: Network): Token {
  return {
    address: NATIVE_CURRENCY,
    symbol: network.nativeSymbol,
    name: network.nativeSymbol === 'ETH' ? 'Ether' : 'POL',
    decimals: 18,
  }
}

function isDecimals(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_DECIMALS
}

/** The printable part of a text, in one line; undefined where nothing is left. */
export function cleanText(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.replace(UNSEEN, '').replace(/\s+/gu, ' ').trim()
  return text === '' ? undefined : [...text].slice(0, MAX_TEXT).join('').trim()
}

/** Old tokens (MKR) return bytes32, padded with zeros. */
function cleanBytes32(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const bytes = hexToBytes(value as Hex)
  const end = bytes.indexOf(0)
  return cleanText(new TextDecoder().decode(end === -1 ? bytes : bytes.subarray(0, end)))
}
