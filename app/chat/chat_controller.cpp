#include "chat/chat_controller.h"

#include "chat/gui_callback.h"
#include "chat/message_text.h"
#include "host/chat_request.h"
#include "host/data_url.h"
#include "host/journal_lines.h"

#include <QTimerEvent>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

namespace waste::app {

namespace {

constexpr int kSaveDraftDelayMs = 1000;
constexpr int kBuiltInModelTokensMax = 1500; // the longest conversations that it was trained on
constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 20; // with a long conversation, Qt included
constexpr std::uint64_t kPictureFilesMax = 3; // in memory at a time: attached, shown, seen by the model

} // namespace

ChatController::ChatController(const Services& services, QObject* parent)
    : QObject(parent)
    , m_services(services)
    , m_answers(m_messages, services.keeper, services.engine, services.list)
    , m_conversationId(host::newConversationId())
    , m_pictures(services.keeper, services.engine, services.viewer)
{
    connect(&m_pictures, &DraftPictures::changed, this, &ChatController::noteDraftChange);
    show({}, m_conversationId, {}, {});
    connect(&m_answers, &RunningAnswers::ended, this, &ChatController::answerEnded);
}

void ChatController::start()
{
    const auto listed = [this](Result<host::ConversationKeeper::List> list) {
        if (!list)
            return showSaveError(QString::fromStdString(list.error().message));
        m_services.list.setList(*list);
        // What was typed into a new chat and never sent is a conversation without messages.
        const auto unsent = std::find_if(list->conversations.begin(), list->conversations.end(),
            [](const host::ConversationSummary& summary) { return summary.messageCount == 0; });
        if (unsent == list->conversations.end())
            return;
        m_unsentId = unsent->id;
        if (isEmpty() && m_draft.isEmpty() && m_pictures.count() == 0)
            open(QString::fromStdString(unsent->id));
    };
    m_services.keeper.list(onGuiThread<host::ConversationKeeper::List>(this, listed));
}

void ChatController::openModel(const std::filesystem::path& model, bool builtIn)
{
    m_builtIn = builtIn;
    host::OpenModelRequest request;
    request.model = model;
    request.programBytes =
        kWindowBytes + m_services.viewer.bytesMax() + kPictureFilesMax * std::uint64_t{host::kPictureBytesMax};
    m_services.engine.openModel(std::move(request));
    // Its first event is on the way; what is typed meanwhile may be sent.
    m_engineStatus.phase = host::EngineStatus::Phase::Opening;
    updateActions();
}

QString ChatController::title() const
{
    const std::string& title = m_messages.conversation().title;
    return title.empty() ? tr("New chat") : QString::fromStdString(title);
}

QStringList ChatController::samples() const
{
    return {tr("What is the capital of Japan?"), tr("What is an expert?"), tr("I need the times table of 7.")};
}

QString ChatController::modelName() const
{
    return m_builtIn ? QStringLiteral("K3-mini") : QString::fromStdString(m_engineStatus.modelName);
}

bool ChatController::isModelReady() const
{
    return !m_engineStatus.modelName.empty() && m_engineStatus.phase != host::EngineStatus::Phase::Opening;
}

int ChatController::usedTokens() const
{
    const host::Message* last = lastMessage();
    if (last == nullptr)
        return 0;
    if (m_engineStatus.answerId == last->id)
        return static_cast<int>(m_engineStatus.usedTokens);
    return static_cast<int>(last->timings.promptTokens + last->timings.tokens);
}

bool ChatController::isLongForModel() const
{
    return m_builtIn && usedTokens() > kBuiltInModelTokensMax;
}

// The draft

void ChatController::setDraft(const QString& draft)
{
    if (m_draft == draft)
        return;
    m_draft = draft;
    Q_EMIT draftChanged();
    noteDraftChange();
}

void ChatController::noteDraftChange()
{
    m_isDraftChanged = true;
    m_saveDraftLater.start(kSaveDraftDelayMs, this);
    updateActions();
}

void ChatController::timerEvent(QTimerEvent* event)
{
    if (event->timerId() == m_saveDraftLater.timerId())
        saveDraftNow();
}

void ChatController::saveDraftNow()
{
    m_saveDraftLater.stop();
    if (!m_readOnlyReason.isEmpty() || !std::exchange(m_isDraftChanged, false))
        return;
    const host::Draft draft{m_draft.toStdString(), m_pictures.blocks()};
    if (isEmpty())
        m_unsentId = draft.isEmpty() ? std::string() : m_conversationId;
    m_services.keeper.saveDraft(m_conversationId, draft, showsWhetherSaved());
}

void ChatController::showSaveError(const QString& error)
{
    if (std::exchange(m_saveError, error) != error)
        Q_EMIT saveErrorChanged();
}

host::ConversationKeeper::Done<void> ChatController::showsWhetherSaved()
{
    return onGuiThread<void>(this,
        [this](Status saved) { showSaveError(saved ? QString() : QString::fromStdString(saved.error().message)); });
}

// Asking

void ChatController::send()
{
    if (!canSend())
        return;
    const QString text = std::exchange(m_draft, QString());
    Q_EMIT draftChanged();
    const auto pictures = m_pictures.take();
    m_saveDraftLater.stop(); // the question becomes durable first
    m_isDraftChanged = true;
    submit(lastMessage() != nullptr ? lastMessage()->id : std::string(), text, pictures);
}

void ChatController::ask(const QString& text)
{
    setDraft(text);
    send();
}

void ChatController::edit(const QString& messageId, const QString& text)
{
    const host::Message* message = m_messages.conversation().find(messageId.toStdString());
    if (message != nullptr && message->role == host::Role::User && !text.trimmed().isEmpty() && mayWrite())
        submit(message->parent, text, picturesOf(*message));
}

void ChatController::submit(const std::string& parent, const QString& text, const std::vector<host::Block>& pictures)
{
    std::vector<host::Json> lines;
    if (isEmpty()) {
        m_messages.setTitle(host::titleFrom(text.isEmpty() ? pictures.front().name : text.toStdString()));
        lines.push_back(host::setLine("title", m_messages.conversation().title));
        lines.push_back(host::setLine("model", modelName().toStdString()));
        m_unsentId.clear();
    }
    host::Message question = host::newMessage(host::Role::User, parent);
    question.blocks = pictures;
    question.append(host::Block::Type::Text, text.toStdString());
    lines.push_back(host::messageLine(question));
    const std::string questionId = question.id;
    m_messages.add(std::move(question));
    addAnswer(questionId, std::move(lines), questionId);
}

void ChatController::tryAgain()
{
    const host::Message* last = lastMessage();
    if (canRetry())
        addAnswer(last->role == host::Role::Assistant ? last->parent : last->id, {}, {});
}

void ChatController::addAnswer(
    const std::string& parent, std::vector<host::Json> lines, const std::string& newQuestionId)
{
    host::Message answer = host::newMessage(host::Role::Assistant, parent);
    answer.state = host::MessageState::Queued;
    answer.modelName = modelName().toStdString();
    lines.push_back(host::messageLine(answer));
    lines.push_back(host::setLine("leaf", answer.id));
    m_messages.add(answer);
    requestAnswer(answer, {.conversationId = m_conversationId, .newQuestionId = newQuestionId}, std::move(lines));
}

void ChatController::continueAnswer()
{
    if (!canContinue())
        return;
    const host::Message answer = *lastMessage();
    m_messages.setState(answer.id, host::MessageState::Queued);
    requestAnswer(answer, {.conversationId = m_conversationId, .isContinued = true},
        {host::stateLine(answer.id, host::MessageState::Queued)});
}

// The question is on disk before the engine hears of it.
void ChatController::requestAnswer(
    const host::Message& answer, const RunningAnswers::Answer& running, std::vector<host::Json> lines)
{
    host::AnswerRequest request;
    request.id = answer.id;
    host::ChatTurns turns = host::chatTurns(
        m_messages.conversation(), answer.parent, m_services.keeper.attachmentsFolder(m_conversationId));
    request.messages = std::move(turns.messages);
    request.pictures = std::move(turns.pictures);
    request.partialMessage = host::assistantMessage(answer);
    request.thinking = m_services.settings.thinking();
    request.effort = m_services.settings.effortName();
    request.timings = answer.timings;
    host::ConversationSummary summary = host::summaryOf(m_messages.conversation());
    summary.id = m_conversationId;
    summary.updatedUtc = host::utcText(std::chrono::system_clock::now());
    m_services.list.put(summary);
    m_answers.add(answer.id, running);
    m_services.recorder.expect(m_conversationId, answer);

    const auto saved = [this, request = std::move(request)](Status status) {
        if (!status)
            return takeBack(request.id, status.error());
        showSaveError({});
        m_services.engine.answer(request);
        m_answers.submitted(request.id);
        saveDraftNow(); // only now: until then it was the one copy on disk
    };
    m_services.keeper.append(m_conversationId, std::move(lines), onGuiThread<void>(this, saved));
    Q_EMIT conversationChanged();
    updateActions();
}

// What could not be saved was not asked either: the text goes back to where it was typed.
void ChatController::takeBack(const std::string& answerId, const Error& error)
{
    showSaveError(QString::fromStdString(error.message));
    const auto undone = m_answers.drop(answerId);
    if (undone && undone->conversationId == m_conversationId) {
        if (undone->isContinued) {
            m_messages.setState(answerId, host::MessageState::Stopped);
        } else {
            m_messages.removeLast(answerId);
            const host::Message* question = m_messages.conversation().find(undone->newQuestionId);
            if (question != nullptr && m_draft.isEmpty()) {
                m_pictures.show(m_conversationId, picturesOf(*question));
                setDraft(QString::fromStdString(question->textOf(host::Block::Type::Text)));
            }
            m_messages.removeLast(undone->newQuestionId);
        }
        if (isEmpty()) {
            m_messages.setTitle({});
            m_services.list.remove(conversationId());
        }
        Q_EMIT conversationChanged();
    }
    updateActions();
}

void ChatController::stop()
{
    if (m_engineStatus.phase == host::EngineStatus::Phase::Opening && !isDue())
        m_services.engine.stopOpening();
    m_answers.stopIn(m_conversationId);
}

void ChatController::releaseVision()
{
    m_services.engine.releaseVision();
}

// Conversations

void ChatController::newChat()
{
    if (!m_unsentId.empty() && m_unsentId != m_conversationId)
        return open(QString::fromStdString(m_unsentId));
    if (isEmpty())
        return;
    leave();
    show({}, host::newConversationId(), {}, {});
}

void ChatController::open(const QString& conversationId)
{
    const std::string id = conversationId.toStdString();
    if (id == m_conversationId)
        return;
    const auto loaded = [this, id](Result<host::ConversationKeeper::Loaded> conversation) {
        if (!conversation)
            return showSaveError(QString::fromStdString(conversation.error().message));
        if (id == m_conversationId)
            return;
        if (conversation->conversation.messages.empty() && !conversation->readOnlyReason.empty()) {
            m_unsentId.clear(); // another window's new chat: this one gets its own
            return newChat();
        }
        leave();
        // What is being answered is newer here than on disk.
        if (auto running = m_answers.takeFromBackground(id))
            conversation->conversation = std::move(*running);
        show(std::move(conversation->conversation), id, conversation->draft,
            QString::fromStdString(conversation->readOnlyReason));
    };
    m_services.keeper.load(id, onGuiThread<host::ConversationKeeper::Loaded>(this, loaded));
}

void ChatController::leave()
{
    saveDraftNow();
    if (isDue())
        m_answers.putInBackground(m_conversationId, m_messages.take());
    else
        m_services.keeper.release(m_conversationId);
}

void ChatController::show(
    host::Conversation conversation, const std::string& id, const host::Draft& draft, const QString& readOnlyReason)
{
    conversation.id = id;
    m_messages.show(std::move(conversation));
    m_conversationId = id;
    m_readOnlyReason = readOnlyReason;
    m_draft = QString::fromStdString(draft.text);
    m_pictures.show(id, draft.attachments);
    m_isDraftChanged = false;
    m_services.list.setCurrent(conversationId());
    Q_EMIT conversationChanged();
    Q_EMIT draftChanged();
    updateActions();
}

void ChatController::showSibling(const QString& messageId, int step)
{
    const host::Conversation& conversation = m_messages.conversation();
    const host::Message* message = conversation.find(messageId.toStdString());
    const host::Message* sibling = message != nullptr ? conversation.sibling(*message, step) : nullptr;
    if (sibling == nullptr || isDue())
        return;
    const std::string leaf = conversation.newestBelow(*sibling).id;
    m_messages.showBranch(leaf);
    if (m_readOnlyReason.isEmpty())
        keep(m_conversationId, host::setLine("leaf", leaf));
    updateActions();
}

void ChatController::rename(const QString& conversationId, const QString& title)
{
    const std::string id = conversationId.toStdString();
    keep(id, host::setLine("title", title.toStdString()));
    m_services.list.setTitle(conversationId, title);
    if (id == m_conversationId) {
        m_messages.setTitle(title.toStdString());
        Q_EMIT conversationChanged();
    }
}

void ChatController::remove(const QString& conversationId)
{
    const std::string id = conversationId.toStdString();
    m_answers.stopIn(id);
    keep(id, host::setLine("deleted", true));
    m_services.list.remove(conversationId);
    if (id == m_conversationId) {
        leave();
        show({}, host::newConversationId(), {}, {});
    }
}

void ChatController::restore(const QString& conversationId)
{
    keep(conversationId.toStdString(), host::setLine("deleted", false));
    const auto listed = [this](Result<host::ConversationKeeper::List> list) {
        if (list)
            m_services.list.setList(*list);
    };
    m_services.keeper.list(onGuiThread<host::ConversationKeeper::List>(this, listed));
}

void ChatController::keep(const std::string& conversationId, host::Json line)
{
    m_services.keeper.append(conversationId, {std::move(line)}, showsWhetherSaved());
    if (conversationId != m_conversationId && !m_answers.isAnyIn(conversationId))
        m_services.keeper.release(conversationId);
}

QString ChatController::textOf(const QString& messageId) const
{
    const host::Message* message = m_messages.conversation().find(messageId.toStdString());
    return message != nullptr ? QString::fromStdString(message->textOf(host::Block::Type::Text)) : QString();
}

void ChatController::handle(const std::vector<host::EngineEvent>& events)
{
    for (const host::EngineEvent& event : events) {
        if (const auto* status = std::get_if<host::EngineStatus>(&event)) {
            const bool wasReady = isModelReady();
            const bool isOtherModel = status->modelName != m_engineStatus.modelName;
            m_engineStatus = *status;
            m_services.status.setModelName(modelName());
            m_services.status.setEngine(*status);
            m_pictures.setPace(status->pace);
            if (isOtherModel || wasReady != isModelReady()) {
                m_pictures.inspectAgain();
                Q_EMIT modelChanged();
            }
        }
        m_answers.handle(event);
    }
    updateActions();
}

} // namespace waste::app
