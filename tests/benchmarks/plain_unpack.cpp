#include "plain_unpack.h"

namespace waste::benchmark {
namespace {

constexpr std::size_t kGroup = PlainMatrix::kGroup;
constexpr std::size_t kLanes = 16;

template<std::size_t groupBytes, typename Unpack>
void multiplyPlainly(const PlainMatrix& matrix, const float* x, float* y, const Unpack& unpack)
{
    const std::size_t groups = matrix.columns / kGroup;
    const std::uint8_t* bytes = matrix.payload;
    const float* scale = matrix.scales;
    for (std::size_t row = 0; row < matrix.rows; ++row) {
        float sums[kLanes] = {};
        for (std::size_t group = 0; group < groups; ++group, bytes += groupBytes, ++scale) {
            float values[kGroup];
            unpack(bytes, *scale, values);
            const float* const input = x + group * kGroup;
            for (std::size_t i = 0; i < kGroup; i += kLanes) {
                for (std::size_t lane = 0; lane < kLanes; ++lane)
                    sums[lane] += values[i + lane] * input[i + lane];
            }
        }
        y[row] = 0;
        for (const float sum : sums)
            y[row] += sum;
    }
}

} // namespace

void multiplyPlainQ4(const PlainMatrix& matrix, const float* x, float* y)
{
    multiplyPlainly<kGroup / 2>(matrix, x, y, [](const std::uint8_t* bytes, float scale, float* values) {
        for (std::size_t i = 0; i < kGroup / 2; ++i) {
            values[2 * i] = scale * static_cast<float>((bytes[i] & 15) - 8);
            values[2 * i + 1] = scale * static_cast<float>((bytes[i] >> 4) - 8);
        }
    });
}

void multiplyPlainQ8(const PlainMatrix& matrix, const float* x, float* y)
{
    multiplyPlainly<kGroup>(matrix, x, y, [](const std::uint8_t* bytes, float scale, float* values) {
        for (std::size_t i = 0; i < kGroup; ++i)
            values[i] = scale * static_cast<float>(static_cast<std::int8_t>(bytes[i]));
    });
}

} // namespace waste::benchmark
