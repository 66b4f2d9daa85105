/** A run of vitest, as its reporter `json` writes it. */
export type VitestReport = {
  success: boolean
  testResults: readonly {
    name: string
    status: string
    message: string
    assertionResults: readonly { status: string; fullName: string; failureMessages?: readonly string[] }[]
  }[]
}
