#include "waste/session.h"

#include "session/facade_guard.h"
#include "session/session_internals.h"

#include <utility>

namespace waste {
namespace {

Error unfinished(const char* what)
{
    return Error{ErrorCode::Busy, "unfinished",
        std::string("the conversation stopped in the middle of a token and cannot be ") + what
            + "; let it go on, or roll it back"};
}

} // namespace

Result<std::unique_ptr<Session::Internals>> Session::Internals::create(std::shared_ptr<Engine::Internals> engine)
{
    const ModelConfig& config = engine->config();
    const std::uint32_t contextTokens = engine->options.contextTokens;
    Result<Reservation> reservation =
        engine->budget.reserve(SessionMemory::stateBytes(config, contextTokens), "a conversation");
    if (!reservation) {
        return Error{ErrorCode::Busy, "busy",
            "the memory plan has room for " + std::to_string(engine->options.conversationCount)
                + " open conversations of this model; close one first"};
    }
    const std::uint64_t bytes = SessionMemory::bytes(config, contextTokens, engine->plan.prefillChunkTokens);
    WASTE_TRY(Arena arena, Arena::create(bytes, "a conversation"));
    return std::make_unique<Internals>(std::move(engine), std::move(*reservation), std::move(arena));
}

Session::Internals::Internals(
    std::shared_ptr<Engine::Internals> owner, Reservation sessionReservation, Arena sessionArena)
    : engine(std::move(owner))
    , reservation(std::move(sessionReservation))
    , arena(std::move(sessionArena))
    , memory(
          SessionMemory::carve(arena, engine->config(), engine->options.contextTokens, engine->plan.prefillChunkTokens))
    , state(SequenceState::bind(engine->config(), engine->options.contextTokens, memory.state))
{
    chunkRows.reserve(engine->plan.prefillChunkTokens);
    reset();
}

Session::Session(std::unique_ptr<Internals> internals)
    : m_internals(std::move(internals))
{
}

Session::~Session() = default;

Status Session::append(std::span<const TokenId> ids, const AppendOptions& options)
{
    return guarded([&]() -> Status {
        const GenerationLock lock(*m_internals->engine);
        WASTE_TRY_STATUS(lock.status());
        return m_internals->append(ids, options);
    });
}

Result<GenerateResult> Session::generate(const GenerateOptions& options, const TokenSink& sink)
{
    return guarded([&]() -> Result<GenerateResult> {
        const GenerationLock lock(*m_internals->engine);
        WASTE_TRY_STATUS(lock.status());
        return m_internals->generate(options, sink);
    });
}

std::uint64_t Session::position() const
{
    return m_internals->state.position;
}

std::uint32_t Session::contextTokens() const
{
    return m_internals->state.contextTokens;
}

std::span<const TokenId> Session::tokens() const
{
    return m_internals->evaluatedIds();
}

std::span<const float> Session::logits() const
{
    if (!m_internals->continuation.hasLogits)
        return {};
    return m_internals->memory.logits;
}

bool Session::isUnfinished() const
{
    return m_internals->isUnfinished();
}

std::span<const TokenId> Session::unfinishedIds() const
{
    return m_internals->memory.chunkIds.first(m_internals->memory.chunk.tokenCount);
}

std::optional<TokenId> Session::pendingToken() const
{
    const TokenId pending = m_internals->continuation.pendingToken;
    return pending < 0 ? std::nullopt : std::optional(pending);
}

void Session::reset()
{
    m_internals->reset();
}

Status Session::checkpoint()
{
    if (m_internals->isUnfinished())
        return unfinished("kept");
    m_internals->keepCheckpoint();
    return {};
}

Status Session::rollBack()
{
    m_internals->rollBack();
    return {};
}

std::optional<std::uint64_t> Session::checkpointPosition() const
{
    const auto& checkpoint = m_internals->checkpoint;
    return checkpoint ? std::optional(checkpoint->position) : std::nullopt;
}

Status Session::save(const std::filesystem::path& file) const
{
    return guarded([&]() -> Status {
        if (m_internals->isUnfinished())
            return unfinished("saved");
        return m_internals->save(file);
    });
}

Status Session::restore(const std::filesystem::path& file)
{
    return guarded([&] { return m_internals->restore(file); });
}

} // namespace waste
