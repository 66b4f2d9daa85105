// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title The one trader and liquidity provider of the devnet: it pays every Uniswap v3 and v4 callback from its own balance.
/// Anybody may call it. The node remembers every call inside of a transaction, so there are as few as can be.

interface IToken {
    function transfer(address to, uint256 amount) external returns (bool);
}

interface IPoolV3 {
    function slot0() external view returns (uint160 sqrtPriceX96, int24, uint16, uint16, uint16, uint8, bool);
    function swap(address recipient, bool zeroForOne, int256 amountSpecified, uint160 sqrtPriceLimitX96, bytes calldata data)
        external
        returns (int256 amount0, int256 amount1);
    function mint(address recipient, int24 tickLower, int24 tickUpper, uint128 amount, bytes calldata data)
        external
        returns (uint256 amount0, uint256 amount1);
    function burn(int24 tickLower, int24 tickUpper, uint128 amount) external returns (uint256 amount0, uint256 amount1);
    function collect(address recipient, int24 tickLower, int24 tickUpper, uint128 amount0, uint128 amount1)
        external
        returns (uint128, uint128);
}

/// A v3 pool, with what it would otherwise have to be asked.
struct PoolV3 {
    IPoolV3 pool;
    address token0;
    address token1;
}

struct PoolKey {
    address currency0;
    address currency1;
    uint24 fee;
    int24 tickSpacing;
    address hooks;
}

struct SwapParams {
    bool zeroForOne;
    int256 amountSpecified;
    uint160 sqrtPriceLimitX96;
}

struct ModifyLiquidityParams {
    int24 tickLower;
    int24 tickUpper;
    int256 liquidityDelta;
    bytes32 salt;
}

interface IPoolManager {
    function unlock(bytes calldata data) external returns (bytes memory);
    function swap(PoolKey memory key, SwapParams memory params, bytes calldata hookData) external returns (int256 delta);
    function modifyLiquidity(PoolKey memory key, ModifyLiquidityParams memory params, bytes calldata hookData)
        external
        returns (int256 delta, int256 fees);
    function sync(address currency) external;
    function settle() external payable returns (uint256);
    function take(address currency, address to, uint256 amount) external;
    function extsload(bytes32 slot) external view returns (bytes32);
}

/// The pool's price is to be brought into [low, high].
struct LevelV3 {
    PoolV3 pool;
    uint160 low;
    uint160 high;
}

struct LevelV4 {
    PoolKey key;
    uint160 low;
    uint160 high;
}

contract Desk {
    /// More than any pool can take, so that a swap ends at its price limit.
    int256 private constant WITHOUT_END = 1 << 120;
    uint160 private constant LOWEST = 4295128740;
    uint160 private constant HIGHEST = 1461446703485210103287273052203988822378723970341;
    /// Where the PoolManager keeps its mapping of pools.
    bytes32 private constant POOLS_SLOT = bytes32(uint256(6));

    IPoolManager private immutable manager;

    constructor(IPoolManager poolManager) {
        manager = poolManager;
    }

    receive() external payable {}

    /// Moves each pool to the near edge of its range, as an arbitrageur would; does nothing inside of it.
    function level(LevelV3[] calldata v3, LevelV4[] calldata v4) external {
        for (uint256 i = 0; i < v3.length; i++) {
            (uint160 price,,,,,,) = v3[i].pool.pool.slot0();
            if (price < v3[i].low) swapV3(v3[i].pool, false, WITHOUT_END, v3[i].low);
            else if (price > v3[i].high) swapV3(v3[i].pool, true, WITHOUT_END, v3[i].high);
        }
        for (uint256 i = 0; i < v4.length; i++) {
            uint160 price = priceV4(v4[i].key);
            if (price < v4[i].low) swapV4(v4[i].key, false, WITHOUT_END, v4[i].low);
            else if (price > v4[i].high) swapV4(v4[i].key, true, WITHOUT_END, v4[i].high);
        }
    }

    // ---- v3

    /// @param amount Exact input where positive, exact output where negative, as v3 counts.
    /// @param limit 0 for none.
    function swapV3(PoolV3 calldata pool, bool zeroForOne, int256 amount, uint160 limit) public {
        pool.pool.swap(address(this), zeroForOne, amount, limit == 0 ? endOf(zeroForOne) : limit, tokensOf(pool));
    }

    function mintV3(PoolV3 calldata pool, int24 tickLower, int24 tickUpper, uint128 liquidity) external {
        pool.pool.mint(address(this), tickLower, tickUpper, liquidity, tokensOf(pool));
    }

    /// Fees are collected as well.
    function burnV3(PoolV3 calldata pool, int24 tickLower, int24 tickUpper, uint128 liquidity) external {
        pool.pool.burn(tickLower, tickUpper, liquidity);
        pool.pool.collect(address(this), tickLower, tickUpper, type(uint128).max, type(uint128).max);
    }

    function uniswapV3SwapCallback(int256 amount0, int256 amount1, bytes calldata data) external {
        (address token0, address token1) = abi.decode(data, (address, address));
        if (amount0 > 0) IToken(token0).transfer(msg.sender, uint256(amount0));
        if (amount1 > 0) IToken(token1).transfer(msg.sender, uint256(amount1));
    }

    function uniswapV3MintCallback(uint256 amount0, uint256 amount1, bytes calldata data) external {
        (address token0, address token1) = abi.decode(data, (address, address));
        if (amount0 > 0) IToken(token0).transfer(msg.sender, amount0);
        if (amount1 > 0) IToken(token1).transfer(msg.sender, amount1);
    }

    function tokensOf(PoolV3 calldata pool) private pure returns (bytes memory) {
        return abi.encode(pool.token0, pool.token1);
    }

    // ---- v4

    /// @param amount Exact input where positive, exact output where negative: v3's way round, turned for the manager below.
    /// @param limit 0 for none.
    function swapV4(PoolKey calldata key, bool zeroForOne, int256 amount, uint160 limit) public {
        SwapParams memory params = SwapParams(zeroForOne, -amount, limit == 0 ? endOf(zeroForOne) : limit);
        ModifyLiquidityParams memory none;
        manager.unlock(abi.encode(true, key, params, none));
    }

    /// Adds liquidity, or takes it away where negative, with the fees.
    function changeV4(PoolKey calldata key, int24 tickLower, int24 tickUpper, int256 liquidityDelta) external {
        SwapParams memory none;
        manager.unlock(abi.encode(false, key, none, ModifyLiquidityParams(tickLower, tickUpper, liquidityDelta, 0)));
    }

    function unlockCallback(bytes calldata data) external returns (bytes memory) {
        (bool isSwap, PoolKey memory key, SwapParams memory swap, ModifyLiquidityParams memory change) =
            abi.decode(data, (bool, PoolKey, SwapParams, ModifyLiquidityParams));
        int256 delta;
        if (isSwap) delta = manager.swap(key, swap, "");
        else (delta,) = manager.modifyLiquidity(key, change, "");
        // amount0 in its upper and amount1 in its lower 128 bits; negative is what we owe.
        clear(key.currency0, int128(delta >> 128));
        clear(key.currency1, int128(delta));
        return "";
    }

    function clear(address currency, int128 amount) private {
        if (amount > 0) manager.take(currency, address(this), uint128(amount));
        if (amount >= 0) return;
        uint256 owed = uint128(-amount);
        if (currency == address(0)) {
            manager.settle{value: owed}();
        } else {
            manager.sync(currency);
            IToken(currency).transfer(address(manager), owed);
            manager.settle();
        }
    }

    function priceV4(PoolKey calldata key) private view returns (uint160) {
        bytes32 slot = keccak256(abi.encode(keccak256(abi.encode(key)), POOLS_SLOT));
        return uint160(uint256(manager.extsload(slot)));
    }

    function endOf(bool zeroForOne) private pure returns (uint160) {
        return zeroForOne ? LOWEST : HIGHEST;
    }
}
