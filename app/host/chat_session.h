#pragma once

#include "host/engine_events.h"
#include "host/picture_rows.h"
#include "waste/chat_format.h"
#include "waste/session.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace waste::host {

// The conversation that the engine has in its state. Reads of a request only what the state does not hold
// yet: what was read or generated once is never paid for twice while requests extend each other (spec:
// server 8). One thread at a time.
class ChatSession {
public:
    struct Callbacks {
        // What the prompt has, and how much of it the state holds already. May be empty.
        std::function<void(std::uint64_t promptTokens, std::uint64_t reusedTokens)> prepared;
        // At a picture, before it can be read. May be empty where requests have no pictures.
        PictureRows::Progress looking;
        std::function<void(std::uint64_t done, std::uint64_t total)> reading; // tokens of the prompt
        std::function<void()> began; // reading is over
        std::function<void(const TokenEvent& event, bool thinking)>
            token; // one was written; its text follows if it has any by itself
        std::function<void(const ReplyDelta& delta)> text;
    };

    // The engine outlives the session; it sees pictures if it was opened with its vision tower.
    ChatSession(Engine& engine, std::unique_ptr<Session> session, std::shared_ptr<const ChatFormat> format,
        SamplingOptions sampling);

    // Reads and answers. Stopped if `cancel` was set: what came so far stays, and the same request with
    // `partialMessage` goes on from there. The event lacks the times of waiting.
    ReplyEnded answer(const AnswerRequest& request, const CancelFlag& cancel, const Callbacks& callbacks);

    [[nodiscard]] std::uint64_t usedTokens() const; // read, written, or about to be
    [[nodiscard]] const ReadingPace& pace() const { return m_pace; }

private:
    // A request in ids, and where its parts end.
    struct Wanted {
        std::vector<TokenId> ids; // the whole prompt; at positions of pictures the numbers of m_pictures
        std::vector<std::size_t> messageEnds; // in `ids`, of each message; notes and generation prompt follow
        std::vector<TokenId> partialIds; // behind `ids`: an unfinished reply to go on with
        ReplyReader::Options reader;
        bool thinking = false;
    };
    Result<Wanted> render(const AnswerRequest& request);
    Status renderPartial(const AnswerRequest& request, Wanted& wanted) const;
    [[nodiscard]] bool isLive(const AnswerRequest& request, const Wanted& wanted) const;
    Status bringTo(const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel,
        const Callbacks& callbacks, ReplyEnded& ended);
    Result<bool> closeReply(
        const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel, const Callbacks& callbacks);
    void goBack(const std::vector<TokenId>& ids);
    [[nodiscard]] Status checkRoom(const Wanted& wanted) const;
    Status append(std::span<const TokenId> ids, std::vector<TokenId>& standsFor, const AppendOptions& options,
        const Callbacks& callbacks);
    Status generate(const AnswerRequest& request, const Wanted& wanted, const CancelFlag& cancel,
        const Callbacks& callbacks, ReplyEnded& ended);

    std::unique_ptr<Session> m_session;
    std::shared_ptr<const ChatFormat> m_format;
    const SamplingOptions m_sampling; // recommended for this model
    ReadingPace m_pace;
    PictureRows m_pictures;
    struct Reading {
        std::uint64_t tokens = 0;
        std::chrono::steady_clock::duration time = {};
    };
    Reading m_reading; // of this answer so far, without looking

    // The state stands behind m_rendered, as the renderer gives it, and behind m_sampled, as the model
    // wrote it (or as it was fed to close a reply). A chunk that was cut counts: the next call finishes it.
    std::vector<TokenId> m_rendered;
    std::vector<TokenId> m_sampled;
    bool m_renderedThinking = false;
    std::size_t m_checkpointEnd = 0; // in m_rendered; 0: none
    // Of the reply in m_sampled, while it can go on.
    std::string m_liveAnswerId;
    std::optional<ReplyReader> m_reader;
};

} // namespace waste::host
