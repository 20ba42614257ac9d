#include "benchmark.h"

#include "waste/engine.h"
#include "waste/session.h"

#include <cstdio>
#include <numeric>

namespace waste::benchmark {
namespace {

constexpr std::size_t kPromptTokens = 512;
constexpr std::uint32_t kReplyTokens = 64;

// What one decoded token must at least read: the resident trunk, and its share of the experts.
double bytesPerToken(const Engine& engine)
{
    return static_cast<double>(engine.plan().trunkBytes + engine.plan().workingSetBytes);
}

Status measure(Table& table)
{
    WASTE_TRY(const auto container, Container::open(WASTE_K3_MINI_CONTAINER));
    EngineOptions options;
    const double openSeconds = medianSeconds(3, [&] { static_cast<void>(Engine::open(container, options)); });
    WASTE_TRY(const auto engine, Engine::open(container, options));
    table.add({"K3-mini, open", openSeconds * 1e3, "ms"});

    std::vector<TokenId> prompt(kPromptTokens);
    std::iota(prompt.begin(), prompt.end(), 300);
    WASTE_TRY(const auto session, engine->createSession());
    const double prefillSeconds = medianSeconds(3, [&] {
        session->reset();
        static_cast<void>(session->append(prompt));
    });
    table.add({"K3-mini, prefill of 512 tokens", kPromptTokens / prefillSeconds, "tok/s"});

    GenerateOptions generate;
    generate.tokensMax = kReplyTokens;
    const double decodeSeconds = medianSeconds(3, [&] {
        session->reset();
        static_cast<void>(session->append(std::span(prompt).first(8)));
        static_cast<void>(session->generate(generate, [](const TokenEvent&) { return TokenAction::Continue; }));
    });
    table.add({"K3-mini, decode of 64 tokens", kReplyTokens / decodeSeconds, "tok/s"});
    table.add({"K3-mini, bytes a token must read", bytesPerToken(*engine) / 1e6, "MB"});
    return {};
}

} // namespace

void measureModel(Table& table)
{
    if (const auto status = measure(table); !status)
        std::fprintf(stderr, "%s\n", status.error().message.c_str());
}

} // namespace waste::benchmark
