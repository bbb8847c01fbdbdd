#include "transport/run/object/erasure.h"

#include "transport/base/invariant.h"

#include <isa-l/erasure_code.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace stage {
namespace {

using core::ParityCode;
using Row = std::vector<unsigned char>;
using Rows = std::vector<unsigned char*>;

constexpr std::size_t kTableBytes = 32;  ///< ISA-L's, of one coefficient.

unsigned char* raw(std::byte* bytes) {
    return reinterpret_cast<unsigned char*>(bytes);
}

unsigned char coefficient(std::size_t symbols, std::size_t parity, std::size_t symbol) {
    return gf_inv(static_cast<unsigned char>((symbols + parity) ^ symbol));
}

/// out[r] = sum of matrix[r][i] x in[i]; `bytes` of each. An empty sum is zero.
void multiply(Row matrix, Rows in, Rows out, std::size_t bytes) {
    if (in.empty()) {
        for (unsigned char* row : out) {
            std::fill_n(row, bytes, static_cast<unsigned char>(0));
        }
        return;
    }
    Row tables(kTableBytes * in.size() * out.size());
    const auto columns = static_cast<int>(in.size());
    const auto rows = static_cast<int>(out.size());
    ec_init_tables(columns, rows, matrix.data(), tables.data());
    ec_encode_data(
        static_cast<int>(bytes), columns, rows, tables.data(), in.data(), out.data());
}

/// Where the symbols' bytes are: in place, or, of a short one, in a copy with zeros behind.
class SymbolBytes {
  public:
    SymbolBytes(const ParityCode& code, BlockStore& blocks)
        : code_{code}, blocks_{blocks}, symbols_{code.symbols()}, bytes_{code.symbol_bytes()} {}

    [[nodiscard]] std::size_t count() const { return symbols_.size(); }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] unsigned char* read(std::size_t index) {
        std::byte* place = place_of(index);
        if (symbols_[index].bytes == bytes_) {
            return raw(place);
        }
        Row& copy = copies_.emplace_back(bytes_);
        std::copy_n(raw(place), symbols_[index].bytes, copy.begin());
        return copy.data();
    }
    void write(std::size_t index, const Row& row) {
        const ParityCode::Symbol& symbol = symbols_[index];
        const std::size_t offset = symbol.chunk.index() * std::size_t{code_.chunk_bytes};
        std::copy_n(row.begin(), symbol.bytes, raw(place_of(index)));
        blocks_.set_extent(symbol.block, static_cast<std::uint32_t>(offset + symbol.bytes));
    }

  private:
    [[nodiscard]] std::byte* place_of(std::size_t index) {
        const ParityCode::Symbol& symbol = symbols_[index];
        return blocks_.acquire(symbol.block).data() +
               symbol.chunk.index() * std::size_t{code_.chunk_bytes};
    }

    const ParityCode& code_;
    BlockStore& blocks_;
    std::vector<ParityCode::Symbol> symbols_;
    std::size_t bytes_;
    std::deque<Row> copies_;
};

}  // namespace

void encode_parities(const ParityCode& code, BlockIndex parity_block, BlockStore& blocks) {
    SymbolBytes symbols{code, blocks};
    const std::size_t k = symbols.count();
    Row matrix;
    Rows in;
    Rows out;
    std::byte* parities = blocks.acquire(parity_block).data();
    for (std::size_t symbol = 0; symbol < k; ++symbol) {
        in.push_back(symbols.read(symbol));
    }
    for (std::size_t parity = 0; parity < code.parities; ++parity) {
        out.push_back(raw(parities + parity * code.chunk_bytes));
        for (std::size_t symbol = 0; symbol < k; ++symbol) {
            matrix.push_back(coefficient(k, parity, symbol));
        }
    }
    multiply(std::move(matrix), std::move(in), std::move(out), symbols.bytes());
    blocks.set_extent(parity_block, std::uint32_t{code.parities} * code.chunk_bytes);
}

/// Each parity less what the symbols that are here put into it is a sum of the lost ones alone:
/// as many equations as unknowns, and of Cauchy coefficients, so that they can be solved.
void reconstruct(const ParityCode& code, BlockIndex parity_block, BlockStore& blocks) {
    SymbolBytes symbols{code, blocks};
    const std::size_t k = symbols.count();
    const std::size_t lost = code.lost.size();
    const std::size_t bytes = symbols.bytes();
    invariant(lost > 0 && code.with.size() == lost, "as many parities as lost symbols");
    const std::byte* parities = blocks.acquire(parity_block).data();
    Row known;
    Row unknown;
    Rows here;
    std::vector<std::size_t> here_index;
    for (std::size_t symbol = 0; symbol < k; ++symbol) {
        if (!std::ranges::binary_search(code.lost, symbol)) {
            here.push_back(symbols.read(symbol));
            here_index.push_back(symbol);
        }
    }
    std::vector<Row> sums(lost, Row(bytes));
    Rows sum_rows;
    for (std::size_t row = 0; row < lost; ++row) {
        sum_rows.push_back(sums[row].data());
        for (const std::size_t symbol : here_index) {
            known.push_back(coefficient(k, code.with[row], symbol));
        }
        for (const std::uint16_t symbol : code.lost) {
            unknown.push_back(coefficient(k, code.with[row], symbol));
        }
    }
    multiply(std::move(known), std::move(here), sum_rows, bytes);
    for (std::size_t row = 0; row < lost; ++row) {
        const std::byte* parity = parities + std::size_t{code.with[row]} * code.chunk_bytes;
        for (std::size_t i = 0; i < bytes; ++i) {
            sums[row][i] ^= std::to_integer<unsigned char>(parity[i]);
        }
    }
    Row inverse(lost * lost);
    const int singular =
        gf_invert_matrix(unknown.data(), inverse.data(), static_cast<int>(lost));
    invariant(singular == 0, "Cauchy's matrices have inverses");
    std::vector<Row> found(lost, Row(bytes));
    Rows found_rows;
    for (Row& row : found) {
        found_rows.push_back(row.data());
    }
    multiply(std::move(inverse), sum_rows, found_rows, bytes);
    for (std::size_t row = 0; row < lost; ++row) {
        symbols.write(code.lost[row], found[row]);
    }
}

}  // namespace stage
