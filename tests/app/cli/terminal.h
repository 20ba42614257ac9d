#pragma once

#include "waste_program.h"

#include <QElapsedTimer>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

// `waste` at a terminal: a pseudo terminal is its input and its error stream, and its output unless a file is
// named. What is typed is text, Ctrl-C included.
class Terminal {
public:
    static constexpr char kCtrlC = '\x03';
    static constexpr char kCtrlD = '\x04';

    Terminal(const QStringList& arguments, const QProcessEnvironment& environment)
    {
        m_master = posix_openpt(O_RDWR | O_NOCTTY);
        if (m_master < 0 || grantpt(m_master) != 0 || unlockpt(m_master) != 0) {
            m_ended = true;
            qWarning("this system gives no pseudo terminal");
            return;
        }
        const QByteArray slave = ptsname(m_master);
        QList<QByteArray> words{WASTE_CLI};
        for (const QString& argument : arguments)
            words << argument.toUtf8();
        QList<QByteArray> variables;
        for (const QString& variable : environment.toStringList())
            variables << variable.toUtf8();
        const auto pointers = [](QList<QByteArray>& texts) {
            QList<char*> list;
            for (QByteArray& text : texts)
                list << text.data();
            return list << nullptr;
        };
        const QList<char*> argv = pointers(words);
        const QList<char*> envp = pointers(variables);
        m_child = fork();
        if (m_child == 0) {
            setsid();
            const int terminal = open(slave.constData(), O_RDWR); // becomes the controlling one
            dup2(terminal, 0);
            dup2(terminal, 1);
            dup2(terminal, 2);
            execve(WASTE_CLI, argv.data(), envp.data());
            _exit(127);
        }
    }
    ~Terminal()
    {
        if (m_child > 0 && !m_ended) {
            ::kill(m_child, SIGKILL);
            waitpid(m_child, nullptr, 0);
        }
        close(m_master);
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    void type(const QByteArray& text)
    {
        if (write(m_master, text.constData(), static_cast<std::size_t>(text.size())) != text.size())
            qWarning("could not type");
    }

    // Reads until the screen shows `text` behind what was seen before.
    bool shows(const QByteArray& text, int timeoutMs = 60'000)
    {
        QElapsedTimer timer;
        timer.start();
        while (timer.elapsed() < timeoutMs) {
            if (const qsizetype at = m_screen.indexOf(text, m_seen); at >= 0) {
                m_seen = at + text.size();
                return true;
            }
            if (!readMore(100) && m_ended)
                return false;
        }
        return false;
    }

    int exitCode(int timeoutMs = 60'000) // -1: still running, or died of a signal
    {
        QElapsedTimer timer;
        timer.start();
        int status = 0;
        while (timer.elapsed() < timeoutMs) {
            readMore(20);
            if (waitpid(m_child, &status, WNOHANG) == m_child) {
                m_ended = true;
                readMore(0);
                return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
            }
        }
        return -1;
    }

    [[nodiscard]] const QByteArray& screen() const { return m_screen; }

private:
    bool readMore(int timeoutMs)
    {
        pollfd waiting{m_master, POLLIN, 0};
        if (poll(&waiting, 1, timeoutMs) <= 0)
            return false;
        char bytes[4096];
        const auto count = read(m_master, bytes, sizeof bytes);
        if (count <= 0) {
            m_ended = m_ended || count < 0;
            return false;
        }
        m_screen.append(bytes, count);
        return true;
    }

    int m_master = -1;
    pid_t m_child = -1;
    bool m_ended = false;
    QByteArray m_screen;
    qsizetype m_seen = 0;
};
